// The micro-kernels behind convolution in channel blocks: some pixels times a panel of filters, the sum
// running over a list of places in memory. Direct convolution and Winograd's products differ in the list
// alone.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// y[pixel][filter] = bias + sum over steps and k < depth of x[step + pixel * stride + k] * w[…][filter].
struct BlockedTile {
  const float* x = nullptr;
  const int64_t* steps = nullptr;          // where each run of terms begins, from x
  int64_t count = 0, depth = 0;            // steps, and terms of each
  int64_t last_count = 0, last_depth = 0;  // further steps, with fewer terms
  int64_t stride = 0;                      // from pixel to pixel
  const float* w = nullptr;                // row after row, as wide as the panel
  const float* bias = nullptr;             // as wide as the panel; null: 0
  float* y = nullptr;
  int64_t y_block = 0;  // from one block of filters to the next
  bool adds = false;    // to y instead of the bias: kernels of BlockedTiles::adds()
  /// Added to the sums, and laid out as y is; null: nothing. The same kernels.
  const float* added = nullptr;
  Bounds bounds = {};           // that y is kept within
  const float* next = nullptr;  // weights that are wanted soon
  const float* next_end = nullptr;
  int64_t next_lines = 0;  // how many cache lines of them to fetch with every step

  /// So many tiles fetch `floats` weights, each its part with every step. All at once they would be more than
  /// the processor can wait for at a time, and what is multiplied now would wait behind them.
  void fetch(const float* weights, int64_t floats, int64_t tiles) {
    const int64_t steps = line * count * tiles;
    next = weights;
    next_end = weights + floats;
    next_lines = steps > 0 ? (floats + steps - 1) / steps : 0;
  }
  /// After each of them.
  void fetched() {
    next += next_lines * count * line;
    if (next >= next_end) next_lines = 0;
  }

 private:
  static constexpr int64_t line = 16;
};

/// Distances between pixels that have kernels of their own; the last one serves all others. Pixels of pairs
/// are half as long, and never plain.
inline constexpr int tile_stride_kinds = 5;
inline constexpr int64_t tile_strides[tile_stride_kinds] = {16, 32, 1, 2, 0};
inline constexpr int64_t pair_strides[tile_stride_kinds] = {8, 16, 8, 16, 0};
/// Those whose kernels can add to what is in memory, where blocks are whole.
constexpr bool adds_at(int64_t stride) { return stride >= channel_block; }
inline constexpr int most_tile_rows = 14;

struct BlockedTiles {
  int64_t strides[tile_stride_kinds];
  int max_rows;
  int64_t panel_blocks;  // of filters
  // By kind, whether of a whole panel or of one block, and rows.
  void (*run[tile_stride_kinds][2][most_tile_rows + 1])(const BlockedTile&) = {};
  /// The same where of the last block no more than the first half has filters; none of pairs.
  void (*half[tile_stride_kinds][2][most_tile_rows + 1])(const BlockedTile&) = {};

  /// By channels: one block of filters and so few channels that their weights stay in registers; null where
  /// they do not. Pixels lie 16 floats apart, in x and in y.
  void (*few[channel_block + 1])(const float* x, const float* w, float* y, int64_t pixels) = {};

  /// Is any number of so many pixels of a block NaN? None of pairs.
  bool (*any_nan)(const float* y, int64_t pixels) = nullptr;

  int64_t panel_filters() const { return panel_blocks * channel_block; }
  int64_t panels(int64_t blocks) const { return (blocks + panel_blocks - 1) / panel_blocks; }
  /// The kernels, by rows, of a panel with so many blocks, the last of them with so many filters.
  const auto& of(int64_t stride, int64_t blocks, int64_t last = channel_block) const {
    const int kind = kind_of(stride), whole = blocks < panel_blocks ? 0 : 1;
    return is_half(kind, whole, last) ? half[kind][whole] : run[kind][whole];
  }
  /// Can all kernels add to what is in memory, where the last block has so many filters?
  bool adds(int64_t stride, int64_t last) const {
    const int kind = kind_of(stride);
    return adds_at(strides[kind]) && !is_half(kind, 0, last) && !is_half(kind, 1, last);
  }

 private:
  int kind_of(int64_t stride) const {
    int kind = 0;
    while (kind + 1 < tile_stride_kinds && strides[kind] != stride) ++kind;
    return kind;
  }
  bool is_half(int kind, int whole, int64_t last) const {
    return last <= channel_block / 2 && half[kind][whole][1];
  }
};
const BlockedTiles& blocked_tiles(Isa isa);
/// Whose elements are pairs of bfloat16, as those of pair_kernels().
const BlockedTiles& blocked_pair_tiles(Isa isa);

}  // namespace lathe::cpu
