// A model of one node from an operator's case.
#pragma once

#include "lathe/onnx.h"
#include "ops/cases.h"

namespace lathe::testing {

/// Inputs are named "x0", "x1", … (absent ones ""), outputs "y0", …. Constant inputs become initializers.
/// Output types are left open.
onnx::ModelProto model_of(const OpCase& c);
/// The inputs that the model asks for, in order.
std::vector<Value> inputs_of(const OpCase& c);

}  // namespace lathe::testing
