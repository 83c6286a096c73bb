// The micro-kernels of convolution in channel blocks: some pixels times a panel of filters, summed over a
// list of places in memory. Direct convolution and Winograd's products differ in the list alone.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// y[pixel][filter] = bias + sum over steps and k < depth of x[step + pixel * stride + k] * w[…][filter].
struct BlockedTile {
  const float* x = nullptr;
  const int64_t* steps = nullptr;          // offset of each run of terms from x
  int64_t count = 0, depth = 0;            // steps, and terms of each
  int64_t last_count = 0, last_depth = 0;  // further steps, with fewer terms
  int64_t stride = 0;                      // from pixel to pixel
  const float* w = nullptr;                // row after row, as wide as the panel
  const float* bias = nullptr;             // as wide as the panel; null: 0
  float* y = nullptr;
  int64_t y_block = 0;  // from one block of filters to the next
  bool adds = false;    // sums are added to y instead of the bias; only kernels of BlockedTiles::adds()
  /// Added to the sums, with the layout of y; null: nothing. Only the same kernels.
  const float* added = nullptr;
  Bounds bounds = {};           // of y
  const float* next = nullptr;  // weights to prefetch
  const float* next_end = nullptr;
  int64_t next_lines = 0;  // the number of their cache lines that every step prefetches

  /// Prefetches `floats` weights over `tiles` tiles, a part with every step. All at once would be more than
  /// the processor can wait for at a time, and the current products would wait behind them.
  void fetch(const float* weights, int64_t floats, int64_t tiles) {
    const int64_t steps = line * count * tiles;
    next = weights;
    next_end = weights + floats;
    next_lines = steps > 0 ? (floats + steps - 1) / steps : 0;
  }
  /// Called after each of these tiles.
  void fetched() {
    next += next_lines * count * line;
    if (next >= next_end) next_lines = 0;
  }

 private:
  static constexpr int64_t line = 16;
};

/// The distances between pixels that have kernels of their own; the last kind serves all others. Pixels of
/// pairs are half as long, and never NCHW.
inline constexpr int tile_stride_kinds = 5;
inline constexpr int64_t tile_strides[tile_stride_kinds] = {16, 32, 1, 2, 0};
inline constexpr int64_t bf16_dot2_strides[tile_stride_kinds] = {8, 16, 8, 16, 0};
/// Returns whether kernels for this distance can add to memory, if blocks are whole.
constexpr bool adds_at(int64_t stride) { return stride >= channel_block; }
inline constexpr int max_tile_rows = 14;

struct BlockedTiles {
  int64_t strides[tile_stride_kinds];
  int MR;
  int64_t panel_blocks;  // of filters
  // By kind, by whether the panel is whole or one block, and by rows.
  void (*run[tile_stride_kinds][2][max_tile_rows + 1])(const BlockedTile&) = {};
  /// The same if at most the first half of the last block has filters; none for pairs.
  void (*half_block[tile_stride_kinds][2][max_tile_rows + 1])(const BlockedTile&) = {};

  /// By channels: kernels for one block of filters and so few channels that their weights stay in registers;
  /// null if they do not. Pixels are 16 floats apart, in x and in y.
  void (*few[channel_block + 1])(const float* x, const float* w, float* y, int64_t pixels) = {};

  /// Returns whether any number of `pixels` pixels of a block is NaN. Null for pairs.
  bool (*any_nan)(const float* y, int64_t pixels) = nullptr;

  int64_t panel_filters() const { return panel_blocks * channel_block; }
  int64_t panels(int64_t blocks) const { return (blocks + panel_blocks - 1) / panel_blocks; }
  /// The kernels, by rows, of a panel with `blocks` blocks, the last of which has `last` filters.
  const auto& of(int64_t stride, int64_t blocks, int64_t last = channel_block) const {
    const int kind = kind_of(stride), whole = blocks < panel_blocks ? 0 : 1;
    return is_half_block(kind, whole, last) ? half_block[kind][whole] : run[kind][whole];
  }
  /// Returns whether all kernels can add to memory if the last block has `last` filters.
  bool adds(int64_t stride, int64_t last) const {
    const int kind = kind_of(stride);
    return adds_at(strides[kind]) && !is_half_block(kind, 0, last) && !is_half_block(kind, 1, last);
  }

 private:
  int kind_of(int64_t stride) const {
    int kind = 0;
    while (kind + 1 < tile_stride_kinds && strides[kind] != stride) ++kind;
    return kind;
  }
  bool is_half_block(int kind, int whole, int64_t last) const {
    return last <= channel_block / 2 && half_block[kind][whole][1];
  }
};
const BlockedTiles& blocked_tiles(Isa isa);
/// Kernels whose elements are pairs of bfloat16, like those of bf16_dot2_kernels().
const BlockedTiles& blocked_bf16_dot2_tiles(Isa isa);

}  // namespace lathe::cpu
