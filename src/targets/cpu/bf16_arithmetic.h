// Products in bfloat16, where BuildOptions::precision allows them: matrix products with large constant
// weights become lathe.Bf16MatMul. Everything else keeps float32. Comes after use_float_arithmetic.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// True when something changed: casts of weights are left to be folded.
bool use_bf16_arithmetic(Graph& graph);
/// The same of convolutions in channel blocks, whose weights are no kernels of 3 x 3 that step by one: those
/// take fewer products of float32 (Winograd).
bool use_bf16_convolutions(Graph& graph);

}  // namespace lathe
