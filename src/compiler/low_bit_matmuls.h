// Products with low-bit weights: MatMul, and Gemm, whose right side is a DequantizeLinear of constant
// whole numbers with a scale for each block along the terms become lathe.LowBitMatMul. The weights stay as
// small as they are in the file. Sums are those of the numbers less their zero points, scaled block by block:
// rounded less often than products of dequantized weights.
#pragma once

#include "compiler/fold.h"
#include "kernel/select.h"

namespace lathe {

/// Is the node such a DequantizeLinear, and read by nothing but such products (through Transpose, Cast
/// between floats)? Then it is better left alone until they are made.
bool stays_low_bit(const Graph& g, const UseIndex& uses, const Node& dequantize);

/// True where anything was changed; the graph then has nodes that nobody reads. Nothing depends on what the
/// weights hold.
bool use_low_bit_matmuls(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                         const Preference& preference);

}  // namespace lathe
