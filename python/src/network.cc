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
  nb::class_<TensorRef>(m, "TensorRef",
                        "The native half of lathe.TensorRef, which describes its methods; without arguments "
                        "an operand that is left out.")
      .def(nb::init<>())
      .def(
          "is_same", [](const TensorRef& a, const TensorRef& b) { return a == b; },
          "Returns whether both are handles of one tensor.")
      .def("id", &TensorRef::id, "Returns the number of the tensor.")
      .def("name", &TensorRef::name, "Returns the name of the tensor.")
      .def("set_name", &TensorRef::set_name, "Renames the tensor.")
      .def("dtype", &dtype_of, "Returns the element type, or None.")
      .def("shape", &shape_of, "Returns the sizes, or None.")
      .def("type", &TensorRef::type, "Returns the type as text.")
      .def("is_network_input", &TensorRef::is_network_input, "Returns whether it is an input of the network.")
      .def("is_network_output", &TensorRef::is_network_output,
           "Returns whether it is an output of the network.")
      .def("constant", &constant_of, "Returns the contents where they are known, or None.")
      .def("producer", &TensorRef::producer, "Returns the layer that produces it, or None.")
      .def("consumers", &TensorRef::consumers, "Returns the layers that read it.");
}

void bind_layer(nb::module_& m) {
  nb::class_<Layer>(m, "Layer", "The native half of lathe.Layer, which describes its methods.")
      .def(
          "is_same", [](const Layer& a, const Layer& b) { return a == b; },
          "Returns whether both are handles of one layer.")
      .def("id", &Layer::id, "Returns the number of the layer.")
      .def("name", &Layer::name, "Returns the name of the layer.")
      .def("set_name", &Layer::set_name, "Renames the layer.")
      .def("kind", &Layer::kind, "Returns the family, or the operator.")
      .def("operators", &Layer::operators, "Returns the ONNX operators that it consists of.")
      .def("get_input", &Layer::get_input, "Returns one input.")
      .def("get_output", &Layer::get_output, "Returns one output.")
      .def("inputs", &Layer::inputs, "Returns the tensors that it reads.")
      .def("outputs", &Layer::outputs, "Returns the tensors that it produces.")
      .def("bodies", &Layer::bodies, "Returns the names of its bodies.")
      .def("body", &Layer::body, "Returns one of its bodies.")
      .def("metadata", &Layer::metadata, "Returns the metadata as pairs.")
      .def("set_metadata", &Layer::set_metadata, "Sets one entry of the metadata.");
}

void bind_making(nb::class_<Network>& c) {
  c.def(nb::init<const std::string&>())
      .def("name", &Network::name, "Returns the name of the network.")
      .def("set_name", &Network::set_name, "Renames the network.")
      .def("clone", &Network::clone, "Returns another network with the same layers.")
      .def(
          "add_input",
          [](Network& n, const std::string& name, const std::string& type, nb::handle shape) {
            return n.add_input(name, type_named(type), sizes_from_python(shape));
          },
          "Adds an input of an element type and sizes, or of a whole type.")
      .def(
          "add_input",
          [](Network& n, const std::string& name, const std::string& type) {
            return n.add_input(name, std::string_view(type));
          },
          "Adds an input of an element type and sizes, or of a whole type.")
      .def("set_default", &Network::set_default, "Sets the value of an input in runs that do not give it.")
      .def("add_constant", &Network::add_constant, "Adds a constant.")
      .def("mark_output", &Network::mark_output, "Makes a tensor an output.")
      .def("unmark_output", &Network::unmark_output, "Makes an output an inner tensor again.")
      .def("mark_debug", &Network::mark_debug, "Makes a tensor a tap.")
      .def("unmark_debug", &Network::unmark_debug, "Undoes mark_debug().")
      .def("is_debug_tensor", &Network::is_debug_tensor, "Returns whether a tensor is a tap.")
      .def("debug_tensors", &Network::debug_tensors, "Returns the tensors that are taps.");
}

void bind_looking(nb::class_<Network>& c) {
  c.def("inputs", &Network::inputs, "Returns the inputs.")
      .def("outputs", &Network::outputs, "Returns the outputs.")
      .def("layers", &Network::layers, "Returns the layers in an order in which they can run.")
      .def("get_input", &Network::get_input, "Returns one input.")
      .def("get_output", &Network::get_output, "Returns one output.")
      .def("get_layer", &Network::get_layer, "Returns one layer.")
      .def(
          "find_layer", [](const Network& n, uint32_t id) { return n.find_layer(id); },
          "Returns a layer by id or name, or None.")
      .def(
          "find_layer", [](const Network& n, const std::string& name) { return n.find_layer(name); },
          "Returns a layer by id or name, or None.")
      .def("find_tensor", &Network::find_tensor, "Returns a tensor by name, or None.")
      .def("query", &Network::query, "Returns the layers that fulfill a query.")
      .def(
          "describe",
          [](const Network& n, const std::string& form) { return n.describe(graph_format(form)); },
          "Returns the operators as \"text\", \"json\" or \"dot\".")
      .def("text", &Network::text, "Returns the layers as text.");
}

void bind_editing(nb::class_<Network>& c) {
  c.def("replace_all_uses", &Network::replace_all_uses, "Makes the readers of one tensor read another.")
      .def("set_input", &Network::set_input, "Makes a layer read another tensor.")
      .def(
          "insert_before",
          [](Network& n, const Layer& layer, size_t i, nb::object make) {
            n.insert_before(layer, i, make_from_python(std::move(make)));
          },
          "Replaces an input of a layer by what make(network, tensor) returns.")
      .def(
          "insert_after",
          [](Network& n, const TensorRef& t, nb::object make) {
            n.insert_after(t, make_from_python(std::move(make)));
          },
          "Replaces a tensor by what make(network, tensor) returns.")
      .def("remove", &Network::remove, "Removes a layer that nothing reads.")
      .def("remove_unused", &Network::remove_unused,
           "Removes the layers that no output needs and returns how many they were.")
      .def("extract", &Network::extract, "Returns a network of what computes the outputs from the inputs.");
}

void bind_keeping(nb::class_<Network>& c) {
  c.def("to_model", &Network::to_model, "Returns the network as a model.")
      .def("cpp", &Network::cpp, "Returns C++ source that makes the network.");
}

nb::list diagnostics_of(const Parser& p) {
  nb::list l;
  for (const Diagnostic& d : p.diagnostics()) l.append(to_python(d));
  return l;
}

}  // namespace

void bind_network(nb::module_& m) {
  bind_tensor(m);
  nb::class_<Network> network(
      m, "Network",
      "The native half of lathe.Network, which describes its methods. For one thread at a time.");
  bind_layer(m);
  bind_layer_options(m);
  bind_making(network);
  bind_layers(m, network);
  bind_looking(network);
  bind_editing(network);
  bind_keeping(network);
  nb::class_<Transaction>(m, "Transaction",
                          "Restores a network, unless it is committed, when it is rolled back or goes.")
      .def(nb::init<const Network&>())
      .def("commit", &Transaction::commit, "Keeps the changes.")
      .def("roll_back", &Transaction::roll_back, "Takes the changes back.");
  nb::class_<Parser>(m, "Parser", "The native half of lathe.Parser, which describes its methods.")
      .def(nb::init<const std::vector<std::filesystem::path>&>())
      .def(
          "parse", [](Parser& p, const onnx::Model& model) { return p.parse(model); },
          "Returns a network of a model.")
      .def("diagnostics", &diagnostics_of,
           "Returns what was found in the last model, as dicts with the fields of lathe.Error.")
      .def("num_errors", &Parser::num_errors, "Returns the number of errors of the last model.")
      .def("supports_operator", &Parser::supports_operator,
           "Returns whether an operator of a domain is known.");
}

}  // namespace lathe::python
