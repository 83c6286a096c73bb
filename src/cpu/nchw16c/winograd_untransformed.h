// Winograd's products with untransformed weights: filters are evaluated at the points in registers,
// multiplied with a few tiles there, and never stored. Evaluating them anew for every few tiles takes less
// time than writing weights at the points and reading them again, as long as tiles are few.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// Adds to y[point][tile][filter] the sum over channels of x[point][tile][channel] *
/// w(point)[channel][filter], for 16 filters of 3 x 3 taps, one row of points, and some tiles.
struct UntransformedTile {
  const float* x = nullptr;  // at the first point of the row; channels are in blocks of 16
  int64_t x_point = 0, x_block = 0;
  const float* w = nullptr;  // [tap][16] of each channel
  int64_t w_channel = 0;     // from one channel to the next
  int64_t channels = 0;
  float* y = nullptr;
  int64_t y_point = 0;
  bool adds = false;            // to the values of y; otherwise to 0
  const float* next = nullptr;  // two lines to prefetch, for each channel; or null
  int64_t next_channel = 0;     // from one channel to the next of them
};

/// Kernels for F(4 x 4, 3 x 3): six rows of six points.
struct UntransformedTiles {
  static constexpr int points = 6, tiles = 4;
  int max_tiles;
  void (*run[points][tiles + 1])(const UntransformedTile&) = {};  // by row and tiles
};
const UntransformedTiles& untransformed_tiles(Isa isa);

}  // namespace lathe::cpu
