// Lets convolutions in channel blocks scale their input as they read it: x * factor + shift for each channel,
// within bounds, as normalization and Relu in front of a convolution do. This is for inputs that the maker of
// x cannot scale, since others read x as it is. Runs after use_blocked_layout and the removal of dead code;
// the nodes in front of the convolution are then dead.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

void use_scaled_inputs(Graph& graph, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
