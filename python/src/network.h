// Common declarations of the bindings of networks.
#pragma once

#include "module.h"

namespace lathe::python {

/// Enumerations and the structs of options, which the package's Python fills from keyword arguments.
void bind_layer_options(nb::module_& m);
/// Every add_* of a Network; names and defaults are given by the package's Python.
void bind_layers(nb::module_& m, nb::class_<Network>& network);

/// Whole numbers and expressions: ("N", 3, "2*S + 1").
Sizes sizes_from_python(nb::handle h);
/// A Python function of a Network that returns a list of TensorRef.
BodyBuilder body_from_python(nb::object function);

}  // namespace lathe::python
