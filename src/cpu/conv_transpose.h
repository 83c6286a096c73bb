// Transposed convolution for float32, NC[spatial], of any rank up to three spatial axes, with groups,
// strides, dilations and padding.
//
// A product of the weights with the image gives, for some filters and all of their taps, what each pixel adds
// (its shares); as much of that as the second-level cache holds is made at a time, and rows of the output
// gather their shares.
#pragma once

#include "cpu/conv.h"

namespace lathe::cpu {

/// The convolution that is transposed, from Y to X: `in` are the sizes and channels of Y, `out` those of X.
using TransposedShape = ConvShape;

/// Floats of the packed weights; they do not depend on batch or on the sizes of the images.
int64_t packed_transposed_weights_size(const GemmKernels& g, const TransposedShape& s);
/// Packs weights [channels of X, channels of Y / groups, kernel…].
void pack_transposed_weights(const GemmKernels& g, const TransposedShape& s, const float* weights, float* to,
                             Workers& workers);

/// Bytes of scratch, 64-byte aligned; `half`: are the weights floats of 16 bits?
size_t transposed_workspace(const GemmKernels& g, const TransposedShape& s, bool half, int threads);
/// `bias` has one element for each channel of Y or is null.
void conv_transpose(Isa isa, const TransposedShape& s, const float* x, const ConvWeights& weights,
                    const float* bias, float* y, void* workspace, KernelContext& c);

/// Of a row of Y, its columns by what remains of their places divided by the stride (the phase): column j of
/// a phase gets line[at + j] from each line of shares, where it is one of these.
struct TapColumns {
  int64_t at, begin, end;
};
/// A phase's taps, how many columns it has, and those that all of the taps reach.
struct TapPhase {
  TapColumns* taps = nullptr;
  int64_t count = 0, all = 0, begin = 0, end = 0;
};
struct TransposedRow {
  const float* shares = nullptr;  // of a filter
  const int64_t* lines = nullptr;
  int64_t line_count = 0;
  const TapPhase* phases = nullptr;
  int64_t phase_count = 0;
  float start = 0;
  float* y = nullptr;
  int64_t columns = 0;
};
struct TransposedKernels {
  void (*row)(const TransposedRow&) = nullptr;
};
const TransposedKernels& transposed_kernels(Isa isa);

}  // namespace lathe::cpu
