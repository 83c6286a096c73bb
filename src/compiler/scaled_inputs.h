// Lets convolutions in channel blocks scale their input as they read it: x * factor + shift for each channel,
// and what keeps the result within bounds, as normalization and Relu in front of a convolution do, where
// nothing that makes x could do it, since others read x as it is. Comes after use_blocked_layout, when
// nothing that is unread is left; what was in front of the convolution then is.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

void use_scaled_inputs(Graph& graph, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
