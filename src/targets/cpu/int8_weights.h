// Weights of eight bits that quantized operators will read as they are.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// Returns whether the node dequantizes constant bytes that convolutions and products of other dequantized
/// bytes read as weights alone. Folding it would write four times as many bytes, to be thrown away once the
/// integers behind them are found (quantized_view.h). True only if nothing but such an operator can be made
/// of the readers: what is left over in the end becomes floats later, when no pass looks at it any more.
bool stays_int8(const Graph& g, const UseIndex& uses, const Node& dequantize);

}  // namespace lathe
