// Common declarations of the parts of the module _lathe.
#pragma once

#include <nanobind/nanobind.h>

#include "lathe/lathe.h"

namespace lathe::python {

namespace nb = nanobind;

/// Returns an argument as a T, or throws a TypeError that says what was expected.
template <class T>
T argument(nb::handle h, const char* expected, bool convert = true) {
  T value;
  if (!nb::try_cast(h, value, convert))
    throw nb::type_error(
        (std::string(expected) + " expected, got " + nb::type_name(h.type()).c_str()).c_str());
  return value;
}

// One per file; module.cc calls them.
void bind_errors(nb::module_& m);
void bind_values(nb::module_& m);
void bind_model(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_context(nb::module_& m);
void bind_state(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_tools(nb::module_& m);
void bind_network(nb::module_& m);
void bind_refit(nb::module_& m);
void bind_exporters(nb::module_& m);
void bind_gguf(nb::module_& m);
void bind_tokenizer(nb::module_& m);
void bind_chat_template(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_generator(nb::module_& m);
void bind_nn(nb::module_& m);

/// An element type by name. Throws Code::bad_argument.
DataType type_named(const std::string& name);
/// "text", "json" or "dot". Throws Code::bad_argument.
GraphFormat graph_format(const std::string& form);

/// Returns a Tensor, SparseTensor, list, dict or None, as values.cc describes them.
nb::object to_python(const Value& v);
/// The inverse. Throws Code::run_bad_input for anything else; `elem` is the element type of an empty list.
Value from_python(nb::handle h, DataType elem = DataType::undefined);

/// A dict of names, both ways.
NamedValues values_from_python(const nb::dict& d);
nb::dict values_to_python(const NamedValues& values);
nb::object to_python(Context c);

nb::object shape_to_python(const std::optional<SymShape>& shape);
nb::tuple shape_to_python(const Shape& shape);
Shape shape_from_python(nb::handle h);
NamedShapes named_shapes_from_python(const nb::dict& d);
nb::dict to_python(const Diagnostic& d);
nb::dict to_python(const IoInfo& io);
nb::list to_python(const std::vector<IoInfo>& list);

/// A dict with the names of GenerationConfig's members, both ways; what a dict lacks is taken from `c`.
GenerationConfig config_from(GenerationConfig c, const nb::dict& given);
nb::dict to_python(GenerationConfig c);

/// A path, or bytes that stay alive with the model.
onnx::Model model_from_python(nb::handle source, const onnx::LoadOptions& options);

}  // namespace lathe::python
