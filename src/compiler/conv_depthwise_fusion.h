// Joins convolutions in channel blocks with depthwise ones or pools behind them where what is between is
// large: as lathe.BlockedConvDepthwise it stays in the second-level cache, and takes no memory of its own.
// Comes after use_blocked_layout, when nothing that is unread is left.
#pragma once

#include "graph/graph.h"
#include "kernel/select.h"

namespace lathe {

void use_conv_depthwise_fusion(Graph& graph, const KernelCatalog& kernels, const Preference& preference);

}  // namespace lathe
