// Convolution in channel blocks whose taps reach so far that most of them miss the image: those that meet it
// add their products to the output where they do, tap by tap, and nothing is padded.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Is it one of these? With steps of one pixel, and a tap that lies on every output's own pixel.
bool reaches_far(const BlockedShape& s);

/// Weights are those of direct convolution. `half`: of 16 bits.
size_t far_workspace(Isa isa, const BlockedShape& s, bool half, int threads);
void far_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                     KernelContext& c);

}  // namespace lathe::cpu
