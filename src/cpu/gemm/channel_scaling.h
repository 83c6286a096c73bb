// Scaling of an image's channels before these are multiplied.
#pragma once

#include <cstdint>

#include "kernel/pointwise.h"

namespace lathe::cpu {

/// x * factor + shift within bounds, with one of each for every channel, in channel blocks. Without shifts
/// they are gates: x * factor, and nothing else.
struct ChannelScaling {
  const float *factor = nullptr, *shift = nullptr;
  Bounds bounds = {};
  int64_t image = 0;  // from the factors of one image to the next one's

  ChannelScaling of_image(int64_t i) const { return {factor + i * image, shift, bounds, 0}; }
};

}  // namespace lathe::cpu
