// Products with low-bit weights: MatMul, and Gemm, whose right side is a DequantizeLinear of constant
// whole numbers with a scale for each block along the terms become lathe.LowBitMatMul; so do those whose
// blocks have a minimum besides, which an Add behind the DequantizeLinear brings (numbers [n, blocks, block],
// scales and minimums [n, blocks, 1], behind them a Reshape to [n, k]). The weights stay as small as they are
// in the file. Rows that a Gather takes of such a matrix, as an embedding does, become lathe.LowBitGather.
// Sums are those of the numbers less their zero points, scaled block by block: rounded less often than
// products of dequantized weights.
#pragma once

#include "compiler/fold.h"
#include "kernel/select.h"

namespace lathe {

/// Returns whether the node is such a DequantizeLinear, and nothing but such products read it (through
/// Transpose, Cast between floats, and the Add and Reshape of blocks with minimums). It is not folded then
/// until they are made.
bool stays_low_bit(const Graph& g, const UseIndex& uses, const Node& dequantize);

/// Returns true if anything was changed; the graph then has nodes that nothing reads. The changes do not
/// depend on the contents of the weights.
bool use_low_bit_matmuls(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                         const Preference& preference);

}  // namespace lathe
