// The same graph with numbers of 53 bits: what its rounding is measured by.
#pragma once

#include <memory>

#include "graph/graph.h"

namespace lathe::exporters {

/// A copy in which all floats are float64: inputs, constants, results of Cast and what makes tensors. Integers
/// stay. Throws run_out_of_memory.
std::unique_ptr<Graph> in_float64(const Graph& g);
/// Bytes of constants that it would have.
uint64_t float64_bytes(const Graph& g);
/// The elements of `t` as float64; what is no float as it is.
Tensor as_float64(const Tensor& t);

}  // namespace lathe::exporters
