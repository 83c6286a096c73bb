// Models of 16-bit floats calculate in float32, as all CPU kernels do: operators that no kernel runs as they
// are get float32 operands and results. Between them values stay float32, unless the model is to run as it is
// written. Large constants that a kernel widens itself, weights of matrix products, stay as small as they
// are; so do keys and values that Attention takes from call to call, and images that take much of the memory
// (f16_activations.h).
//
// Values keep their 16-bit form too, made by a Cast that is dead unless something still reads it: an output,
// a tap, a body, an operator that moves it as it is.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"
#include "schema/schema.h"

namespace lathe {

struct FloatArithmetic {
  const SchemaCatalog* schemas = nullptr;
  const KernelCatalog* kernels = nullptr;
  bool mixed = true;        // operands may stay in 16 bits if a kernel takes them so
  bool as_written = false;  // round every result to its type
};
/// Works on the graph and its bodies. Returns whether something changed.
bool use_float_arithmetic(Graph& graph, const Preference& preference, const FloatArithmetic& options);

}  // namespace lathe
