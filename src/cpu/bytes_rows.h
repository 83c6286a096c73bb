// Bytes and numbers, row by row: what quantizes, what makes of sums what an operator gives, and windows over
// single channels. Compiled for each instruction set.
#pragma once

#include "cpu/blocked.h"
#include "cpu/bytes_tile.h"

namespace lathe::cpu {

/// Some rows of a product A B, at most panel_filters columns: C = sum - column_zero * row_rest.
struct ByteSums {
  const int32_t* sums = nullptr;  // rows of panel_filters
  int64_t rows = 0, columns = 0;
  const int32_t* row_rest = nullptr;
  const int32_t* column_zero = nullptr;  // null: 0
  const float* scale = nullptr;          // of each column, for floats and bytes
  // Of bytes.
  int32_t zero = 0, lowest = 0;
};

/// An elementwise sum of bytes: clamp(a * a_scale + b * b_scale + constant, low, high), rounded, plus zero.
struct ByteAddition {
  float a_scale = 1, b_scale = 1, constant = 0, low = 0, high = 255;
  int32_t zero = 0;
};

/// Of pixels of one block of channels: clamp(x * factor + shift, low, high), rounded, plus zero.
struct ByteScaling {
  float factor[channel_block], shift[channel_block];
  float low = 0, high = 255;
  int32_t zero = 0;
};

/// Some output rows of one block of an image, one filter for each channel. The sum of a pixel runs over
/// quads of neighbouring pixels.
struct ByteWindows {
  const BlockedShape* shape = nullptr;  // in[] is of the padded image, which windows do not leave
  const uint8_t* x = nullptr;           // the block's padded image; the 48 bytes behind it are read
  const int64_t* steps = nullptr;       // where each quad begins, from the first pixel of a window
  int64_t count = 0;
  const int8_t* weights = nullptr;  // [count][16][4]
  const int32_t* start = nullptr;   // 16
  const ByteGrid* grid = nullptr;   // of these 16
  int64_t row0 = 0, row1 = 0;
  const uint8_t* other = nullptr;  // lies as y does
  uint8_t* y = nullptr;            // the block's output
};

struct ByteRowKernels {
  /// The nearest whole number (ties to even) of x / scale, plus zero, clamped to [lowest, lowest + 255]; NaN
  /// gives zero.
  void (*quantize)(const float* x, void* y, int64_t n, float scale, int32_t zero, int32_t lowest);
  void (*dequantize)(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero);
  void (*dequantize_signed)(const int8_t* x, float* y, int64_t n, float scale, int32_t zero);
  /// Widens [low, high] to what is in x; NaN does not count.
  void (*range)(const float* x, int64_t n, float& low, float& high);
  void (*ints)(const ByteSums& s, int32_t* c, int64_t c_row);
  void (*floats)(const ByteSums& s, float* c, int64_t c_row);
  void (*bytes)(const ByteSums& s, uint8_t* c, int64_t c_row);
  void (*add)(const ByteAddition& how, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
  void (*scale)(const ByteScaling& how, const uint8_t* x, uint8_t* y, int64_t pixels);
  /// y = table[x], of 256.
  void (*map)(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n);
  void (*weighted)(const ByteWindows& w);
  /// Adds `pixels` pixels of 16 bytes to 16 sums.
  void (*add_up)(const uint8_t* x, int64_t pixels, int32_t* sums);
};
const ByteRowKernels& byte_row_kernels(Isa isa);

}  // namespace lathe::cpu
