// Fuses convolutions in channel blocks with depthwise convolutions or pools behind them if the image in
// between is large: in lathe.BlockedConvDepthwise it stays in the second-level cache, and takes no memory of
// its own. Runs after use_blocked_layout and the removal of dead code.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

void use_conv_depthwise_fusion(Graph& graph, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
