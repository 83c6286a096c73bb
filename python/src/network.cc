// Networks, their tensors and layers as handles; the package's Python makes them pleasant. The interpreter
// lock is held by all of it, since bodies and edits are Python functions, but free while an engine is built.
#include "network.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace lathe::python {
namespace {

using Make = std::function<TensorRef(Network&, const TensorRef&)>;

nb::object shape_of(const TensorRef& t) {
  return shape_to_python(t.has_rank() ? std::optional(t.shape()) : std::nullopt);
}

std::optional<std::string> dtype_of(const TensorRef& t) {
  if (t.element_type() == DataType::undefined) return std::nullopt;
  return std::string(name_of(t.element_type()));
}

std::optional<Tensor> constant_of(const TensorRef& t) {
  const Tensor* constant = t.constant();
  return constant ? std::optional(*constant) : std::nullopt;
}

Make make_from_python(nb::object function) {
  return [function = std::move(function)](Network& n, const TensorRef& t) {
    return argument<TensorRef>(function(Network(n), t), "a tensor");
  };
}

void bind_tensor(nb::module_& m) {
  nb::class_<TensorRef>(m, "TensorRef")
      .def(nb::init<>())
      .def("is_same", [](const TensorRef& a, const TensorRef& b) { return a == b; })
      .def("id", &TensorRef::id)
      .def("name", &TensorRef::name)
      .def("set_name", &TensorRef::set_name)
      .def("dtype", &dtype_of)
      .def("shape", &shape_of)
      .def("type", &TensorRef::type)
      .def("is_network_input", &TensorRef::is_network_input)
      .def("is_network_output", &TensorRef::is_network_output)
      .def("constant", &constant_of)
      .def("producer", &TensorRef::producer)
      .def("consumers", &TensorRef::consumers);
}

void bind_layer(nb::module_& m) {
  nb::class_<Layer>(m, "Layer")
      .def("is_same", [](const Layer& a, const Layer& b) { return a == b; })
      .def("id", &Layer::id)
      .def("name", &Layer::name)
      .def("set_name", &Layer::set_name)
      .def("kind", &Layer::kind)
      .def("operators", &Layer::operators)
      .def("get_input", &Layer::get_input)
      .def("get_output", &Layer::get_output)
      .def("inputs", &Layer::inputs)
      .def("outputs", &Layer::outputs)
      .def("bodies", &Layer::bodies)
      .def("body", &Layer::body)
      .def("metadata", &Layer::metadata)
      .def("set_metadata", &Layer::set_metadata);
}

void bind_making(nb::class_<Network>& c) {
  c.def(nb::init<const std::string&>())
      .def("name", &Network::name)
      .def("set_name", &Network::set_name)
      .def("clone", &Network::clone)
      .def("add_input",
           [](Network& n, const std::string& name, const std::string& type, nb::handle shape) {
             return n.add_input(name, type_named(type), sizes_from_python(shape));
           })
      .def("add_input", [](Network& n, const std::string& name,
                           const std::string& type) { return n.add_input(name, std::string_view(type)); })
      .def("set_default", &Network::set_default)
      .def("add_constant", &Network::add_constant)
      .def("mark_output", &Network::mark_output)
      .def("unmark_output", &Network::unmark_output)
      .def("mark_debug", &Network::mark_debug)
      .def("unmark_debug", &Network::unmark_debug)
      .def("is_debug_tensor", &Network::is_debug_tensor)
      .def("debug_tensors", &Network::debug_tensors);
}

void bind_looking(nb::class_<Network>& c) {
  c.def("inputs", &Network::inputs)
      .def("outputs", &Network::outputs)
      .def("layers", &Network::layers)
      .def("get_input", &Network::get_input)
      .def("get_output", &Network::get_output)
      .def("get_layer", &Network::get_layer)
      .def("find_layer", [](const Network& n, uint32_t id) { return n.find_layer(id); })
      .def("find_layer", [](const Network& n, const std::string& name) { return n.find_layer(name); })
      .def("find_tensor", &Network::find_tensor)
      .def("query", &Network::query)
      .def("describe",
           [](const Network& n, const std::string& form) { return n.describe(graph_format(form)); })
      .def("text", &Network::text);
}

void bind_editing(nb::class_<Network>& c) {
  c.def("replace_all_uses", &Network::replace_all_uses)
      .def("set_input", &Network::set_input)
      .def("insert_before",
           [](Network& n, const Layer& layer, size_t i, nb::object make) {
             n.insert_before(layer, i, make_from_python(std::move(make)));
           })
      .def("insert_after", [](Network& n, const TensorRef& t,
                              nb::object make) { n.insert_after(t, make_from_python(std::move(make))); })
      .def("remove", &Network::remove)
      .def("remove_unused", &Network::remove_unused)
      .def("extract", &Network::extract);
}

void bind_keeping(nb::class_<Network>& c) { c.def("to_model", &Network::to_model).def("cpp", &Network::cpp); }

nb::list diagnostics_of(const Parser& p) {
  nb::list l;
  for (const Diagnostic& d : p.diagnostics()) l.append(to_python(d));
  return l;
}

}  // namespace

void bind_network(nb::module_& m) {
  bind_tensor(m);
  nb::class_<Network> network(m, "Network");
  bind_layer(m);
  bind_layer_options(m);
  bind_making(network);
  bind_layers(m, network);
  bind_looking(network);
  bind_editing(network);
  bind_keeping(network);
  nb::class_<Transaction>(m, "Transaction")
      .def(nb::init<const Network&>())
      .def("commit", &Transaction::commit)
      .def("roll_back", &Transaction::roll_back);
  nb::class_<Parser>(m, "Parser")
      .def(nb::init<const std::vector<std::filesystem::path>&>())
      .def("parse", [](Parser& p, const onnx::Model& model) { return p.parse(model); })
      .def("diagnostics", &diagnostics_of)
      .def("num_errors", &Parser::num_errors)
      .def("supports_operator", &Parser::supports_operator);
}

}  // namespace lathe::python
