// The micro-kernels behind products and convolutions of bytes: some pixels, or rows of A, of unsigned bytes
// times a panel of filters of signed bytes, summed in int32. Sums are exact (modulo 2^32), so that no result
// depends on the instruction set or on how the work was divided.
#pragma once

#include "cpu/amx.h"
#include "cpu/blocked.h"

namespace lathe::cpu {

/// Bytes are multiplied four at a time: a quad. Weights lie in panels of 32 filters; a row of a panel holds a
/// quad of each.
inline constexpr int64_t quad = 4;
inline constexpr int64_t panel_filters = 32;
inline constexpr int64_t panel_row = panel_filters * quad;
/// Packed rows of A are in blocks of this many bytes.
inline constexpr int64_t byte_block = 64;
inline constexpr int most_byte_rows = most_tiled_rows;

inline constexpr int64_t quads(int64_t bytes) { return (bytes + quad - 1) / quad; }
inline constexpr int64_t panels(int64_t filters) { return (filters + panel_filters - 1) / panel_filters; }

/// How sums become bytes: q = clamp(sum * factor + shift, low, high), rounded to the nearest, plus zero.
/// Where there is another image, q is first the number of a grid of its own, and what is stored is clamp(q *
/// own + other * others + constant, …), rounded, plus zero: a residual connection.
struct ByteGrid {
  const float* factor = nullptr;  // of each filter of the panel
  const float* shift = nullptr;
  float low = 0, high = 255;
  int32_t zero = 0;  // of what is stored
  bool adds = false;
  float own = 1, others = 0, constant = 0, sum_low = 0, sum_high = 255;
  /// Set by find_shortcut(): what is stored is no less than `least`, and clamped above by nothing but 255.
  bool saturates = false;
  int32_t least = 0;
  /// Finds out whether numbers of so many filters stay within int32, so that they may be clamped after they
  /// were rounded.
  void find_shortcut(int64_t filters);
};

struct ByteTile {
  const uint8_t* x = nullptr;              // spread, and so are distances
  const int64_t* steps = nullptr;          // where each run of quads begins, from x
  int64_t count = 0, depth = 0;            // steps, and quads of each
  int64_t last_count = 0, last_depth = 0;  // further steps, with fewer quads
  int64_t stride = 0;                      // from pixel to pixel
  int64_t rows = 0;                        // of packed A
  int64_t tiles = 1;                       // of packed A and of pixels, one after the other
  const int8_t* w = nullptr;
  // What is wanted next is fetched on the way: a line for each row of the panel, so many bytes apart.
  const int8_t* next = nullptr;  // null: nothing
  int64_t next_step = 0;
  const int32_t* start = nullptr;  // what the sum of each filter of the panel begins with

  const ByteGrid* grid = nullptr;
  const uint8_t* other = nullptr;  // lies as y does
  uint8_t* y = nullptr;            // pixels of 16 filters
  int64_t y_block = 0;             // from one block of filters to the next
  int32_t* sums = nullptr;         // rows of panel_filters
  const float* scale = nullptr;    // of each filter of the panel
  float* c = nullptr;              // sums times scale
  int64_t c_row = 0;
};

/// So many of a panel's tiles fetch the next panel together, since memory is slower than the sums of one.
inline int64_t fetching_tiles(int64_t tiles) { return tiles >= 4 ? 4 : tiles >= 2 ? 2 : 1; }

/// The part of the panel behind `panel` (of so many rows) that tile number i of `tiles` fetches.
inline void fetch_next_panel(ByteTile& t, const int8_t* panel, int64_t rows, int64_t i, int64_t tiles) {
  const int64_t parts = fetching_tiles(tiles);
  t.next = i < parts ? panel + rows * panel_row + i * (rows * panel_row / parts) : nullptr;
  t.next_step = i < parts ? panel_row / parts : 0;
}

/// Distances between pixels, before they are spread, that have kernels of their own; the last one serves all
/// others.
inline constexpr int64_t byte_strides[] = {16, 32, 0};
inline constexpr int byte_stride_kinds = 3;

/// The pixels of a tile as rows of packed A.
struct ByteGather {
  const uint8_t* x = nullptr;
  const int64_t* pixels = nullptr;         // where the window of each begins, from x
  int64_t rows = 0;                        // how many
  const int64_t* steps = nullptr;          // as in ByteTile, where each has
  int64_t count = 0;                       // four quads,
  int64_t last_count = 0, last_depth = 0;  // or fewer
  uint8_t* to = nullptr;                   // 64-byte aligned
};

struct ByteTiles {
  using Run = void (*)(const ByteTile&);
  int max_rows;     // pixels
  int packed_rows;  // rows of packed A
  int64_t blocks;   // of 16 filters, that a tile computes
  /// If more than 1, what is multiplied with weights is spread before, in whole blocks of 16 bytes: a byte
  /// takes so many.
  int64_t parts = 1;
  void (*spread)(const uint8_t* x, int64_t bytes, uint8_t* to) = nullptr;
  /// y of some pixels, by kind of stride, whether all blocks, and pixels.
  Run bytes[byte_stride_kinds][2][most_byte_rows + 1] = {};
  /// sums of packed rows of A (count whole blocks and last_depth quads of one more), whether all blocks, and
  /// rows.
  Run sums[2][most_byte_rows + 1] = {};
  /// The same, but c: whole blocks of filters.
  Run floats[2][most_byte_rows + 1] = {};
  /// Only where pixels are gathered: y of some tiles of packed rows of A, whether all blocks. They fetch the
  /// next panel whole, next_step bytes with every line of each row.
  Run pixels[2] = {};
  void (*gather)(const ByteGather&) = nullptr;
  /// sums, floats and pixels of so many rows and more want TileRegisters, set for these.
  int tiled_rows = most_byte_rows + 1;

  const auto& of(int64_t stride, int64_t some_blocks) const {
    int kind = 0;
    while (kind + 1 < byte_stride_kinds && byte_strides[kind] * parts != stride) ++kind;
    return bytes[kind][some_blocks >= blocks];
  }
};
const ByteTiles& byte_tiles(Isa isa);

/// Whether VNNI is used where the machine has it (AMX is only used beside it); tests try both. Takes effect
/// at once, for all threads.
void use_vnni(bool yes);
bool uses_vnni();

}  // namespace lathe::cpu
