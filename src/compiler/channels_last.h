// Images that leave their channel blocks to be transposed so that channels are last, as the heads of
// detectors are and whatever was written for that layout: lathe.ChannelsLast goes there at once. Comes after
// use_blocked_layout; what is unread then is left.
#pragma once

#include "graph/graph.h"

namespace lathe {

void use_channels_last(Graph& graph);

}  // namespace lathe
