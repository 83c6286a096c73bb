// What is done with the channels of an image before it is multiplied.
#pragma once

#include "kernel/pointwise.h"

namespace lathe::cpu {

/// x * factor + shift within bounds; one of each for every channel, in channel blocks.
struct ChannelScaling {
  const float *factor = nullptr, *shift = nullptr;
  Bounds bounds = {};
};

}  // namespace lathe::cpu
