// Bindings of GGUF files. The package's lathe.Gguf turns tensors into arrays.
#include "lathe/gguf.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {
namespace {

/// Strings of a file may be any bytes: those that are no text stay bytes.
nb::object text_or_bytes(const std::string& s) {
  if (PyObject* text = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), nullptr))
    return nb::steal(text);
  PyErr_Clear();
  return nb::bytes(s.data(), s.size());
}

nb::object to_python(const GgufValue& v) {
  const bool is_array = v.type() == GgufValueType::array;
  switch (v.element_type()) {
    case GgufValueType::string: {
      if (!is_array) return text_or_bytes(v.get<std::string>());
      nb::list list;
      for (const std::string& s : v.get<std::vector<std::string>>()) list.append(text_or_bytes(s));
      return list;
    }
    case GgufValueType::boolean:
      if (!is_array) return nb::bool_(v.get<bool>());
      break;
    case GgufValueType::float32:
    case GgufValueType::float64:
      if (!is_array) return nb::float_(v.get<double>());
      break;
    case GgufValueType::uint64:
      if (!is_array) return nb::int_(v.get<uint64_t>());
      break;
    default:
      if (!is_array) return nb::int_(v.get<int64_t>());
  }
  return nb::cast(v.tensor());
}

nb::dict info_to_python(const Gguf& g, const std::string& name) {
  const GgufTensor& t = g.at(name);
  nb::dict d;
  d["name"] = t.name;
  d["type"] = std::string(name_of(t.type));
  d["shape"] = shape_to_python(t.shape);
  d["bytes"] = t.bytes;
  d["file"] = g.files()[t.part].string();
  d["offset"] = t.offset;
  return d;
}

}  // namespace

void bind_gguf(nb::module_& m) {
  nb::class_<Gguf>(m, "Gguf", "The native half of lathe.Gguf, which describes its methods.")
      .def_static(
          "open",
          [](const std::filesystem::path& path, bool untrusted) {
            return Gguf::open(path, {.untrusted = untrusted});
          },
          "Opens a file or all parts of a split one.")
      .def(
          "files",
          [](const Gguf& g) {
            std::vector<std::string> files;
            for (const std::filesystem::path& f : g.files()) files.push_back(f.string());
            return files;
          },
          "Returns the paths of the file or of its parts.")
      .def("version", &Gguf::version, "Returns the version of the format.")
      .def(
          "metadata",
          [](const Gguf& g) {
            nb::dict d;
            for (const auto& [key, value] : g.metadata())
              d[nb::str(key.data(), key.size())] = to_python(value);
            return d;
          },
          "Returns the metadata; arrays of numbers are tensors.")
      .def(
          "names",
          [](const Gguf& g) {
            std::vector<std::string> names;
            for (const GgufTensor& t : g.tensors()) names.push_back(t.name);
            return names;
          },
          "Returns the names of the tensors.")
      .def(
          "contains", [](const Gguf& g, const std::string& name) { return g.contains(name); },
          "Returns whether there is a tensor of that name.")
      .def("info", &info_to_python, "Returns what the table says of a tensor, with the fields of GgufTensor.")
      .def(
          "tensor", [](const Gguf& g, const std::string& name) { return g.tensor(name); },
          nb::call_guard<nb::gil_scoped_release>(), "Returns the elements; those of blocks as float32.")
      .def(
          "float32", [](const Gguf& g, const std::string& name) { return g.float32(name); },
          nb::call_guard<nb::gil_scoped_release>(), "Returns the elements as float32.")
      .def(
          "raw", [](const Gguf& g, const std::string& name) { return g.raw(name); },
          "Returns the bytes of a tensor, its last axis in bytes.");
}

}  // namespace lathe::python
