// Common declarations of the bindings of modules.
#pragma once

#include "lathe/nn.h"
#include "module.h"

namespace lathe::python {

/// The parameters and modules that a module of a Python class has now.
void members_from_python(nb::handle self, nn::Fields& f);

}  // namespace lathe::python
