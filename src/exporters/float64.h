// The same graph in float64, to measure the rounding of the original.
#pragma once

#include <memory>

#include "graph/graph.h"

namespace lathe::exporters {

/// Returns a copy in which all floats are float64: inputs, constants, and the types that Cast and operators
/// that make tensors name. Integers stay. Throws run_out_of_memory.
std::unique_ptr<Graph> in_float64(const Graph& g);
/// Moves every weight of a graph in float64 by half a unit in the last place of `type`, float32 or float64,
/// up or down by chance. Throws run_out_of_memory.
void move_weights(Graph& g, DataType type, uint64_t seed);
/// Returns the bytes of constants that the copy would have.
uint64_t float64_bytes(const Graph& g);
/// Returns the elements of `t` as float64; a tensor that has no floats is returned as it is.
Tensor as_float64(const Tensor& t);

}  // namespace lathe::exporters
