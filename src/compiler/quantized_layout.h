// Quantized convolutions, and the pools and sums between them, go over to bytes in channel blocks: what a
// model expresses with DequantizeLinear, an operator and QuantizeLinear becomes one operator of domain
// "lathe" that computes with bytes. So do QLinearConv. What depends on one byte alone, whatever is between,
// becomes a table (compiler/lookup_tables.h), of bytes in NCHW too. The nodes are in this machine's plan
// only.
//
// Sums of products are exact there, where the model's words would round each of them; a result may therefore
// be a neighbor of what the reference stores, where that was next to the middle between two.
#pragma once

#include "compiler/fold.h"
#include "kernel/select.h"

namespace lathe {

/// True where anything was changed; the graph then has nodes that nobody reads.
bool use_quantized_layout(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                          const Preference& preference);

/// The same for products of matrices: MatMulInteger whose result becomes floats and is scaled, and MatMul of
/// dequantized numbers with weights or with each other.
bool use_quantized_products(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                            const Preference& preference);

}  // namespace lathe
