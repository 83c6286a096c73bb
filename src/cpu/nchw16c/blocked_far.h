// Convolution in channel blocks whose taps reach so far that most are outside the image: those inside add
// their products to the output tap by tap, and nothing is padded.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// Returns whether this is such a convolution, with a stride of 1 and a tap on every output's own pixel.
bool reaches_far(const BlockedShape& s);

/// Weights are packed as for direct convolution. `f16`: whether they have 16 bits.
size_t far_workspace(Isa isa, const BlockedShape& s, bool f16, int threads);
void far_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                     KernelContext& c);

}  // namespace lathe::cpu
