// The micro-kernels of products and convolutions of bytes: some pixels or rows of A (at most MR) of unsigned
// bytes times a packed panel of filters (NR columns) of signed bytes, summed in int32. Sums are exact (modulo
// 2^32), so that no result depends on the instruction set or on the division of the work.
#pragma once

#include "cpu/nchw16c.h"
#include "cpu/simd/amx.h"

namespace lathe::cpu {

/// Bytes are multiplied four at a time, in quads. Weights are packed in panels of NR = 32 filters; a row of a
/// panel has a quad of each.
inline constexpr int64_t quad = 4;
inline constexpr int64_t panel_filters = 32;
inline constexpr int64_t panel_row = panel_filters * quad;
/// Packed rows of A are in blocks of this many bytes.
inline constexpr int64_t int8_block = 64;
inline constexpr int max_int8_rows = max_tiled_rows;

inline constexpr int64_t quads(int64_t bytes) { return (bytes + quad - 1) / quad; }
inline constexpr int64_t panels(int64_t filters) { return (filters + panel_filters - 1) / panel_filters; }

/// Requantization, sums to bytes: q = clamp(sum * factor + shift, low, high), rounded to the nearest, plus
/// zero. If there is another image (a residual connection), q is rounded first, and the result is clamp(q *
/// own + other * others + constant, …), rounded, plus zero.
struct RequantParams {
  const float* factor = nullptr;  // of each filter of the panel
  const float* shift = nullptr;
  float low = 0, high = 255;
  int32_t zero = 0;  // of the result
  bool adds = false;
  float own = 1, others = 0, constant = 0, sum_low = 0, sum_high = 255;
  /// Set by find_shortcut(): results are at least `least`, and their only upper bound is 255.
  bool saturates = false;
  int32_t least = 0;
  /// Determines whether the numbers of all filters stay within int32, so that they may be clamped after
  /// rounding.
  void find_shortcut(int64_t filters);
};

struct Int8Tile {
  const uint8_t* x = nullptr;              // unpacked, and distances are those of unpacked bytes
  const int64_t* steps = nullptr;          // offset of each run of quads from x
  int64_t count = 0, depth = 0;            // number of steps, and quads of each
  int64_t last_count = 0, last_depth = 0;  // further steps, with fewer quads
  int64_t stride = 0;                      // from pixel to pixel
  int64_t rows = 0;                        // of packed A
  int64_t tiles = 1;                       // of packed A and of pixels, one after the other
  const int8_t* w = nullptr;
  // The next panel is prefetched meanwhile: a line for each row of the panel, next_step bytes apart.
  const int8_t* next = nullptr;  // null: nothing
  int64_t next_step = 0;
  const int32_t* start = nullptr;  // the start of the sum of each filter of the panel

  const RequantParams* requant = nullptr;
  const uint8_t* other = nullptr;  // laid out as y
  uint8_t* y = nullptr;            // pixels of 16 filters
  int64_t y_block = 0;             // from one block of filters to the next
  int32_t* sums = nullptr;         // rows of panel_filters
  const float* scale = nullptr;    // of each filter of the panel
  float* c = nullptr;              // sums times scale
  int64_t c_row = 0;
};

/// The number of a panel's tiles that prefetch the next panel together, since memory is slower than one
/// tile's products.
inline int64_t fetching_tiles(int64_t tiles) { return tiles >= 4 ? 4 : tiles >= 2 ? 2 : 1; }

/// Sets the part of the panel after `panel` (of `rows` rows) that tile number i of `tiles` prefetches.
inline void fetch_next_panel(Int8Tile& t, const int8_t* panel, int64_t rows, int64_t i, int64_t tiles) {
  const int64_t parts = fetching_tiles(tiles);
  t.next = i < parts ? panel + rows * panel_row + i * (rows * panel_row / parts) : nullptr;
  t.next_step = i < parts ? panel_row / parts : 0;
}

/// Distances between pixels, before they are unpacked, that have kernels of their own; the last is for all
/// others.
inline constexpr int64_t int8_strides[] = {16, 32, 0};
inline constexpr int int8_stride_kinds = 3;

/// Arguments of gather(), which copies the pixels of a tile into rows of packed A.
struct Int8Gather {
  const uint8_t* x = nullptr;
  const int64_t* pixels = nullptr;         // offset of each one's window from x
  int64_t rows = 0;                        // how many
  const int64_t* steps = nullptr;          // as in Int8Tile, each of
  int64_t count = 0;                       // four quads,
  int64_t last_count = 0, last_depth = 0;  // or fewer
  uint8_t* to = nullptr;                   // 64-byte aligned
};

struct Int8Tiles {
  using Run = void (*)(const Int8Tile&);
  int MR;           // pixels
  int packed_rows;  // rows of packed A
  int64_t blocks;   // of 16 filters, that a tile computes
  /// If more than 1, bytes are unpacked before they are multiplied with weights, in whole blocks of 16: each
  /// takes this many bytes.
  int64_t parts = 1;
  void (*unpack)(const uint8_t* x, int64_t bytes, uint8_t* to) = nullptr;
  /// Computes y of some pixels; by kind of stride, whether all blocks are computed, and pixels.
  Run bytes[int8_stride_kinds][2][max_int8_rows + 1] = {};
  /// Computes sums of packed rows of A (count whole blocks and last_depth quads of one more); by whether all
  /// blocks are computed, and rows.
  Run sums[2][max_int8_rows + 1] = {};
  /// The same for c, for whole blocks of filters.
  Run floats[2][max_int8_rows + 1] = {};
  /// Only set if pixels are gathered: computes y of some tiles of packed rows of A; by whether all blocks are
  /// computed. Prefetches the complete next panel, next_step bytes with every line of each row.
  Run pixels[2] = {};
  void (*gather)(const Int8Gather&) = nullptr;
  /// sums, floats and pixels of this many rows and more require TileRegisters that are set for their rows.
  int tiled_rows = max_int8_rows + 1;

  const auto& of(int64_t stride, int64_t some_blocks) const {
    int kind = 0;
    while (kind + 1 < int8_stride_kinds && int8_strides[kind] * parts != stride) ++kind;
    return bytes[kind][some_blocks >= blocks];
  }
};
const Int8Tiles& int8_tiles(Isa isa);

/// Whether VNNI is used where the machine has it (AMX is only used beside it); tests try both. Takes effect
/// at once, for all threads.
void use_vnni(bool yes);
bool uses_vnni();

}  // namespace lathe::cpu
