// lathe.onnx: the file as it is.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {

namespace {

onnx::Model model_in(const nb::bytes& bytes, const onnx::LoadOptions& options) {
  const std::string_view view(bytes.c_str(), bytes.size());
  std::shared_ptr<void> owner(nb::object(bytes).release().ptr(), [](void* p) {
    nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(p));
  });
  nb::gil_scoped_release free;
  return onnx::Model::parse(view, options, owner);
}

}  // namespace

onnx::Model model_from_python(nb::handle source, const onnx::LoadOptions& options) {
  if (nb::isinstance<onnx::Model>(source)) return nb::cast<onnx::Model>(source);
  if (nb::isinstance<nb::bytes>(source)) return model_in(nb::borrow<nb::bytes>(source), options);
  if (PyByteArray_Check(source.ptr()) || PyMemoryView_Check(source.ptr()))  // these may change: copied
    return model_in(nb::steal<nb::bytes>(PyBytes_FromObject(source.ptr())), options);
  const auto path = argument<std::filesystem::path>(source, "a path, bytes or a lathe.onnx.Model");
  nb::gil_scoped_release free;
  return onnx::Model::load(path, options);
}

namespace {

std::string text_or(const std::optional<std::string>& s) { return s.value_or(std::string()); }

nb::dict entries(const onnx::Entries& list) {
  nb::dict d;
  for (const auto& e : list) d[text_or(e.key).c_str()] = text_or(e.value);
  return d;
}

nb::dict opsets(const onnx::ModelProto& p) {
  nb::dict d;
  for (const auto& o : p.opset_import) d[text_or(o.domain).c_str()] = o.version.value_or(0);
  return d;
}

nb::list initializers(const onnx::Model& m) {
  nb::list names;
  if (m.proto.graph)
    for (const auto& t : m.proto.graph->initializer) names.append(text_or(t.name));
  return names;
}

nb::bytes to_bytes(const onnx::Model& m) {
  std::string s;
  {
    nb::gil_scoped_release free;
    s = onnx::serialize(m.proto);
  }
  return nb::bytes(s.data(), s.size());
}

void save(const onnx::Model& m, const std::filesystem::path& path, const std::string& data,
          const std::string& external_name, int64_t external_threshold, bool text) {
  onnx::SaveOptions o;
  if (data == "single_file")
    o.data = onnx::SaveOptions::Data::single_file;
  else if (data == "external")
    o.data = onnx::SaveOptions::Data::external;
  else if (data != "keep")
    throw Error(Code::bad_argument, "python", "data = 'keep', 'single_file' or 'external'", "'" + data + "'");
  o.external_name = external_name;
  o.external_threshold = external_threshold;
  o.text = text;
  nb::gil_scoped_release free;
  onnx::save(m, path, o);
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<onnx::LoadOptions>(
      m, "LoadOptions", "The options for opening files; the arguments of lathe.onnx.load have these names.")
      .def(nb::init<>())
      .def_rw("untrusted", &onnx::LoadOptions::untrusted,
              "True reads files into private memory instead of mapping them.")
      .def_rw("link_roots", &onnx::LoadOptions::link_roots,
              "Directories whose files may be reached through links.")
      .def_rw("external_data", &onnx::LoadOptions::external_data, "False leaves external data alone.")
      .def_rw("max_bytes", &onnx::LoadOptions::max_bytes,
              "The bytes that a model may have, external data not included.");
  nb::class_<onnx::Model>(
      m, "Model", "An ONNX model in memory; weights stay in the mapped file. Immutable and thread-safe.")
      .def_prop_ro(
          "ir_version", [](const onnx::Model& m) { return m.proto.ir_version.value_or(0); },
          "The IR version of the file, 0 where it has none.")
      .def_prop_ro(
          "opset_import", [](const onnx::Model& m) { return opsets(m.proto); },
          "The opset versions by domain; \"\" is ai.onnx.")
      .def_prop_ro(
          "producer_name", [](const onnx::Model& m) { return text_or(m.proto.producer_name); },
          "The name of the tool that wrote the model.")
      .def_prop_ro(
          "producer_version", [](const onnx::Model& m) { return text_or(m.proto.producer_version); },
          "The version of the tool that wrote the model.")
      .def_prop_ro(
          "domain", [](const onnx::Model& m) { return text_or(m.proto.domain); },
          "The domain of the model, a reverse DNS name.")
      .def_prop_ro(
          "model_version", [](const onnx::Model& m) { return m.proto.model_version.value_or(0); },
          "The version of the model, 0 where it has none.")
      .def_prop_ro(
          "doc_string", [](const onnx::Model& m) { return text_or(m.proto.doc_string); },
          "The description of the model.")
      .def_prop_ro(
          "graph_name",
          [](const onnx::Model& m) { return m.proto.graph ? text_or(m.proto.graph->name) : std::string(); },
          "The name of the main graph.")
      .def_prop_ro(
          "graph_doc_string",
          [](const onnx::Model& m) {
            return m.proto.graph ? text_or(m.proto.graph->doc_string) : std::string();
          },
          "The description of the main graph.")
      .def_prop_ro(
          "has_graph", [](const onnx::Model& m) { return m.proto.graph.has_value(); },
          "True where the file has a main graph.")
      .def_prop_ro(
          "metadata", [](const onnx::Model& m) { return entries(m.proto.metadata_props); },
          "The entries of metadata_props, as a dict.")
      .def_prop_ro("initializers", &initializers, "The names of the initializers of the main graph.")
      .def("to_bytes", &to_bytes, "Returns the model as the bytes of an .onnx file.")
      .def(
          "to_text", [](const onnx::Model& m) { return onnx::to_text(m.proto); },
          "Returns the model in the ONNX text format. Raises lathe.Error E21xx for tensors that are invalid.")
      .def("save", &save, nb::arg("path"), nb::kw_only(), nb::arg("data") = "keep",
           nb::arg("external_name") = "", nb::arg("external_threshold") = 1024, nb::arg("text") = false,
           "Writes the model beside the target first, which it then replaces. `data` is 'keep' (tensors stay "
           "inside or outside as they are), 'single_file' (all inside) or 'external' (those from "
           "`external_threshold` bytes on outside, in the file `external_name`). `text` writes the ONNX text "
           "format. Raises lathe.Error E1004 (file_write_failed), E12xx for references that lead nowhere, "
           "E6001 (bad_argument) for another `data`.");
  m.def("load_model", &model_from_python, nb::arg("source").none(), nb::arg("options") = onnx::LoadOptions(),
        "Returns the model of a path, of bytes, or the model itself. Raises lathe.Error E1xxx or E21xx.");
}

}  // namespace lathe::python
