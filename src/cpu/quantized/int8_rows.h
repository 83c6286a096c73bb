// Row-wise kernels of bytes: quantization, conversion of sums to an operator's results, and windows over
// single channels. Compiled for each instruction set.
#pragma once

#include "cpu/nchw16c.h"
#include "cpu/quantized/int8_tile.h"

namespace lathe::cpu {

/// Some rows of a product A B, at most panel_filters columns: C = sum - column_zero * row_rest.
struct Int8Sums {
  const int32_t* sums = nullptr;  // rows of panel_filters
  int64_t rows = 0, columns = 0;
  const int32_t* row_rest = nullptr;
  const int32_t* column_zero = nullptr;  // null: 0
  const float* scale = nullptr;          // of each column, for floats and bytes
  // For `bytes`: the zero point and the lowest value.
  int32_t zero = 0, lowest = 0;
};

/// An elementwise sum of bytes: clamp(a * a_scale + b * b_scale + constant, low, high), rounded, plus zero.
struct Int8Addition {
  float a_scale = 1, b_scale = 1, constant = 0, low = 0, high = 255;
  int32_t zero = 0;
};

/// The scaling of pixels of one block of channels: clamp(x * factor + shift, low, high), rounded, plus zero.
struct Int8Scaling {
  float factor[channel_block], shift[channel_block];
  float low = 0, high = 255;
  int32_t zero = 0;
};

/// Some output rows of one block of an image, one filter for each channel. The sum of an output pixel is over
/// quads of neighboring pixels.
struct Int8Windows {
  const BlockedShape* shape = nullptr;  // in[] is of the padded image, which windows do not leave
  const uint8_t* x = nullptr;           // the block's padded image; the 48 bytes after it are read
  const int64_t* steps = nullptr;       // offset of each quad from the first pixel of a window
  int64_t count = 0;
  const int8_t* weights = nullptr;         // [count][16][4]
  const int32_t* start = nullptr;          // 16
  const RequantParams* requant = nullptr;  // of these 16
  int64_t row0 = 0, row1 = 0;
  const uint8_t* other = nullptr;  // laid out as y
  uint8_t* y = nullptr;            // the block's output
};

struct Int8RowKernels {
  /// The integer nearest to x / scale (ties to even), plus zero, clamped to [lowest, lowest + 255]; NaN gives
  /// zero.
  void (*quantize)(const float* x, void* y, int64_t n, float scale, int32_t zero, int32_t lowest);
  void (*dequantize)(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero);
  void (*dequantize_signed)(const int8_t* x, float* y, int64_t n, float scale, int32_t zero);
  /// Extends [low, high] to the elements of x, ignoring NaN.
  void (*range)(const float* x, int64_t n, float& low, float& high);
  void (*ints)(const Int8Sums& s, int32_t* c, int64_t c_row);
  void (*floats)(const Int8Sums& s, float* c, int64_t c_row);
  void (*bytes)(const Int8Sums& s, uint8_t* c, int64_t c_row);
  void (*add)(const Int8Addition& how, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
  void (*scale)(const Int8Scaling& how, const uint8_t* x, uint8_t* y, int64_t pixels);
  /// y = table[x], of 256.
  void (*map)(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n);
  void (*weighted)(const Int8Windows& w);
  /// Adds `pixels` pixels of 16 bytes each to 16 sums.
  void (*add_up)(const uint8_t* x, int64_t pixels, int32_t* sums);
};
const Int8RowKernels& int8_row_kernels(Isa isa);

}  // namespace lathe::cpu
