// Products with weights of few bits: MatMul, and Gemm, whose right side is a DequantizeLinear of constant
// whole numbers with a scale for each block along the terms become lathe.FewBitsMatMul. The weights stay as
// small as they are in the file. Sums are those of the numbers less their zero points, scaled block by block:
// rounded less often than products of dequantised weights.
#pragma once

#include "build/fold.h"
#include "kernel/select.h"

namespace lathe {

/// Is the node such a DequantizeLinear, and read by nothing but such products (through Transpose, Cast
/// between floats)? Then it is better left alone until they are made.
bool is_kept_as_few_bits(const Graph& g, const UseIndex& uses, const Node& dequantize);

/// True where anything was changed; the graph then has nodes that nobody reads. Nothing depends on what the
/// weights hold.
bool use_few_bits_products(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                           const Preference& preference);

}  // namespace lathe
