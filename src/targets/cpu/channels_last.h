// Images that leave their channel blocks and are transposed to channels last, as in heads of detectors and
// models written for that layout: lathe.ChannelsLast converts them in one step. Runs after
// use_blocked_layout; nodes that are not read any more stay in the graph.
#pragma once

#include "graph/graph.h"

namespace lathe {

void use_channels_last(Graph& graph);

}  // namespace lathe
