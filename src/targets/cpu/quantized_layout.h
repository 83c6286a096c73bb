// Quantized convolutions, and the pools and sums between them, work on bytes in channel blocks:
// DequantizeLinear, an operator and QuantizeLinear become one operator of domain "lathe" that computes with
// bytes. So does QLinearConv. Functions of one byte alone become a table (targets/cpu/lookup_tables.h), for
// bytes in NCHW too. The nodes are in this machine's plan only.
//
// Sums of products are exact there, where the model's operators would round each product; a result may
// therefore differ by one from what the reference stores, if that was close to halfway between two bytes.
#pragma once

#include "compiler/fold.h"
#include "kernel/select.h"

namespace lathe {

/// Returns true if anything was changed; the graph then has nodes that nothing reads.
bool use_quantized_layout(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                          const Preference& preference);

/// The same for products of matrices: MatMulInteger whose result becomes floats and is scaled, and MatMul of
/// dequantized numbers with weights or with each other.
bool use_quantized_products(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                            const Preference& preference);

}  // namespace lathe
