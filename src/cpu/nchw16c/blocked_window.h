// Windows over single blocks of channels: depthwise convolution and pooling. Compiled for each instruction
// set.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// Some output rows of one block of one image.
struct WindowRows {
  const BlockedShape* shape = nullptr;
  const float* x = nullptr;        // the block's input
  const float* weights = nullptr;  // [taps][16]
  const float* bias = nullptr;     // 16
  const float* row_factor = nullptr;
  const float* column_factor = nullptr;
  int64_t row0 = 0, row1 = 0;
  float* y = nullptr;  // the block's output
  Bounds bounds = {};  // of y
};

struct WindowKernels {
  void (*weighted)(const WindowRows&) = nullptr;
  void (*maximum)(const WindowRows&) = nullptr;
  void (*average)(const WindowRows&) = nullptr;
  /// Adds `pixels` pixels to 16 sums.
  void (*add_up)(const float* x, int64_t pixels, float* sums) = nullptr;
  /// The mean of each of `rows` contiguous rows of `pixels` pixels.
  void (*row_means)(const float* x, int64_t rows, int64_t pixels, float* means) = nullptr;
};
const WindowKernels& window_kernels(Isa isa);

/// Computes rows of one block of a depthwise convolution. `x` and `y` are the block's images, `weights` and
/// `bias` (null: 0) those of all blocks.
void depthwise_rows(Isa isa, const BlockedShape& s, int64_t block, const float* x, const float* weights,
                    const float* bias, int64_t row0, int64_t row1, float* y, const Bounds& bounds);
/// The same for a maximum pool.
void maximum_rows(Isa isa, const BlockedShape& s, const float* x, int64_t row0, int64_t row1, float* y,
                  const Bounds& bounds);
/// Computes the means of `rows` rows from `row0` on, counted over all blocks of all images.
void row_means(Isa isa, const BlockedShape& s, int64_t row0, int64_t rows, const float* y, float* means);
/// Writes NaN as the row means of an output whose rows have no elements.
void means_of_nothing(const BlockedShape& s, float* means);

}  // namespace lathe::cpu
