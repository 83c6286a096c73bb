// The transforms of Winograd convolution for each instruction set: from tiles of the image to points, and
// from points to tiles of the output.
//
// A tile's points are sums of its pixels, so each of its outputs is rounded as if its window held the largest
// of them. That is no loss if windows are similar. A tile is computed by direct sums if its largest pixel is
// more than `max_norm_ratio_pixels` times the largest of one of its windows, is so large that sums at the
// points could overflow, or is NaN: so no window loses digits to its neighbors, and values that are not
// finite affect only the outputs that read them. The magnitude of a pixel is that of its largest channel.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// Neighboring tiles of one row of tiles, in one block of channels. Point p of tile i is at points[p * point
/// + i * tile].
struct WinogradRow {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0, tiles = 0;  // the first tile, and how many
  float* points = nullptr;
  int64_t point = 0, tile = channel_block;
  const float* x = nullptr;      // input: the block of one image
  int64_t channels = 0;          // input: the channels of the block
  const float* bias = nullptr;   // output: 16
  float* y = nullptr;            // output: the block of one image
  Bounds bounds = {};            // output: of y
  const float* added = nullptr;  // output: added before the bounds, with the layout of y; null: nothing
};

inline constexpr float max_norm_ratio_pixels = 16;
/// With smaller pixels and weights all sums are finite, for any filtering and number of channels: points are
/// up to 100 times as large as pixels, 961 times as large as the largest of five taps' weights, and the
/// output transform multiplies products by up to 144.
inline constexpr float large_pixel = 0x1p56F, large_weight = 0x1p30F;

/// How a tile is computed. 0: at the points. `direct_tile`: directly. Otherwise at the points, and each bit
/// is an output, row by row, whose window holds only zeros.
using TileMark = uint32_t;
inline constexpr TileMark direct_tile = TileMark{1} << 31;

/// Some tiles, which are beside and below one another, and their marks.
struct WinogradGate {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, rows = 0, column = 0, tiles = 0;  // `tiles` of each row
  const float* x = nullptr;                          // the image
  TileMark* marks = nullptr;                         // by tile
};

/// One tile of the output for one block of filters.
struct DirectTile {
  const BlockedShape* shape = nullptr;
  int64_t row = 0, column = 0;  // of tiles
  const float* x = nullptr;     // a block of channels
  int64_t channels = 0;         // of the block
  const float* w = nullptr;     // [tap][16] of each channel
  int64_t w_channel = 0;        // from one channel to the next
  bool large_weights = false;   // true if they may be infinite or NaN
  float* sums = nullptr;        // [pixel][16], to which terms are added
};

struct WinogradKernels {
  // Indexed by `filterings`.
  void (*input[3])(const WinogradRow&) = {};
  void (*output[3])(const WinogradRow&) = {};
  void (*look[3])(const WinogradGate&) = {};
  void (*add_direct[3])(const DirectTile&) = {};
  /// The same as `output`, for one tile's sums instead of points.
  void (*store_direct[3])(const WinogradRow&) = {};
};
const WinogradKernels& winograd_kernels(Isa isa);

}  // namespace lathe::cpu
