// Matrix products in bfloat16, where BuildOptions::precision allows them: those with large constant weights
// become lathe.NarrowMatMul. Everything else keeps float32. Comes after use_float_arithmetic.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// True when something changed: casts of weights are left to be folded.
bool use_narrow_arithmetic(Graph& graph);

}  // namespace lathe
