// Operators and TensorRT's names for them.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "lathe/layers.h"

namespace lathe {

/// The layer family that a single operator is of: "convolution" of a Conv; else its own name.
std::string_view family_of(const Node& n);

std::string_view operator_of(UnaryOperation op);
std::string_view operator_of(ReduceOperation op);
/// Returns the operator of an elementwise operation other than floor_div, which needs several.
std::string_view operator_of(ElementWiseOperation op);

}  // namespace lathe
