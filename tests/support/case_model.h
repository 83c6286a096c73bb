// A model of one node from an operator's case, and how its outputs are judged.
#pragma once

#include "lathe/onnx.h"
#include "ops/cases.h"

namespace lathe::testing {

/// Inputs are named "x0", "x1", … (absent ones ""), outputs "y0", …. Constant inputs become initializers.
/// Output types are left open.
onnx::ModelProto model_of(const OpCase& c);
/// Returns the type that a graph with the input `v` declares: a tensor's element type and shape, or a
/// sequence's element type.
onnx::TypeProto type_of_value(const Value& v);
/// The inputs that the model requires, in order.
std::vector<Value> inputs_of(const OpCase& c);

struct Tolerance {
  double rtol, atol;
};
/// Returns how far `v`, an output, may be off: the operator's tolerance in numbers. The reduction length is
/// bounded by the largest input; magnitudes of the cases are about 1.
Tolerance tolerance_of(const OpCase& c, const Value& v);
/// Returns whether two runs may differ.
bool is_random(const OpCase& c);

}  // namespace lathe::testing
