// Transposed convolution for float32, NC[spatial], of any rank up to three spatial axes, with groups,
// strides, dilations and padding.
//
// A product of the weights with the image gives, for some filters and all of their taps, the contribution of
// each pixel (its shares). As many shares as the second-level cache holds are computed at a time, and rows of
// the output gather theirs (col2im).
#pragma once

#include "cpu/conv/conv.h"

namespace lathe::cpu {

/// The convolution that is transposed, from Y to X: `in` has the sizes and channels of Y, `out` those of X.
using TransposedShape = ConvShape;

/// The number of floats of packed weights, which does not depend on batch or on the sizes of the images.
int64_t packed_transposed_weights_size(const GemmKernels& g, const TransposedShape& s);
/// Packs weights [channels of X, channels of Y / groups, kernel…].
void pack_transposed_weights(const GemmKernels& g, const TransposedShape& s, const float* weights, float* to,
                             Workers& workers);

/// The bytes of scratch, 64-byte aligned. `f16`: the weights are floats of 16 bits.
size_t transposed_workspace(const GemmKernels& g, const TransposedShape& s, bool f16, int threads);
/// `bias` has one element for each channel of Y or is null.
void conv_transpose(Isa isa, const TransposedShape& s, const float* x, const ConvWeights& weights,
                    const float* bias, float* y, void* workspace, KernelContext& c);

/// The columns that a tap reaches. Columns of a row of Y whose places have the same remainder modulo the
/// stride form a phase: column j of a phase, in [begin, end), gets line[at + j] from each line of shares.
struct TapColumns {
  int64_t at, begin, end;
};
/// The taps of a phase and their number, the number of all its columns, and the columns that all taps reach.
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
