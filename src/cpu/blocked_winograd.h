// What Winograd convolution needs for each instruction set: tiles of the image into points, and points into
// tiles of the output.
//
// A tile's points are sums of its pixels, so each of its outputs is rounded as if its window held the largest
// of them. That is no loss where windows are much alike. A tile is computed by direct sums where its largest
// pixel is more than `most_apart_pixels` times the largest of one of its windows, is so large that sums at
// the points could overflow, or is no number: so no window loses digits to what lies beside it, and what is
// not finite reaches those outputs alone that see it. How large a pixel is, the largest of its channels says.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Neighbouring tiles of one row of tiles, in one block of channels. Point p of tile i lies at
/// points[p * point + i * tile].
struct WinogradRow {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0, tiles = 0;  // the first tile, and how many
  float* points = nullptr;
  int64_t point = 0, tile = channel_block;
  const float* x = nullptr;      // input: the block of one image
  int64_t channels = 0;          // … of which so many are there
  const float* bias = nullptr;   // output: 16
  float* y = nullptr;            // … and the block of one image
  Bounds bounds = {};            // … that y is kept within
  const float* added = nullptr;  // … and what is added to it before, laid out as it is; null: nothing
};

inline constexpr float most_apart_pixels = 16;
/// Of smaller pixels and weights all sums are finite, whatever the filtering and the number of channels:
/// points are up to 100 times as large as pixels, 961 times as large as the largest of five taps' weights,
/// and on the way back it is 144 times a product.
inline constexpr float large_pixel = 0x1p56F, large_weight = 0x1p30F;

/// What is to be done with a tile. 0: nothing but to evaluate it at the points. `direct_tile`: to compute it
/// directly. Else each bit is an output, row by row, whose window holds zeros alone.
using TileMark = uint32_t;
inline constexpr TileMark direct_tile = TileMark{1} << 31;

/// Some tiles, which lie beside and below one another, and what becomes known of them.
struct WinogradGate {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, rows = 0, column = 0, tiles = 0;  // so many of each row
  const float* x = nullptr;                          // the image
  TileMark* marks = nullptr;                         // by tile
};

/// One tile of the output for one block of filters.
struct DirectTile {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0;  // of tiles
  const float* x = nullptr;     // a block of channels
  int64_t channels = 0;         // … of which so many are there
  const float* w = nullptr;     // [tap][16] of each channel
  int64_t w_channel = 0;        // from one channel to the next
  bool large_weights = false;   // may they be infinite, or NaN?
  float* sums = nullptr;        // [pixel][16], which are added to
};

struct WinogradKernels {
  // For each of `filterings`.
  void (*input[3])(const WinogradRow&) = {};
  void (*output[3])(const WinogradRow&) = {};
  void (*look[3])(const WinogradGate&) = {};
  void (*add_direct[3])(const DirectTile&) = {};
  /// As `output`, of one tile's sums instead of points.
  void (*store_direct[3])(const WinogradRow&) = {};
};
const WinogradKernels& winograd_kernels(Isa isa);

}  // namespace lathe::cpu
