// The micro-kernels of int8_tile.h for one instruction set. Included by for_each_isa.h only.

#include "cpu/quantized/requantize_body.h"

constexpr int tile_block_vectors = static_cast<int>(channel_block / Vec::width);
constexpr bool has_vnni = Vec::width == 16 && LATHE_VNNI;
constexpr int int8_rows = has_vnni ? 14 : Vec::width == 16 ? 12 : Vec::width == 8 ? 6 : 2;
constexpr int tile_blocks = Vec::width == 16 ? 2 : 1;
/// The bytes of a quad after it was unpacked.
constexpr int64_t unpacked_quad = quad * quad_parts;

template <int Rows, int Vectors>
LATHE_INLINE void begin_sums(Ints (&sum)[Rows][Vectors], const int32_t* start) {
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Ints from = load_ints(start + j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) sum[i][j] = from;
  }
}

/// The position of a tile in its panel, and in the panel that it prefetches.
struct PanelWalk {
  const int8_t* w;
  const int8_t* next;
  int64_t next_step;
};
LATHE_INLINE PanelWalk walk_of(const Int8Tile& t) { return {t.w, t.next ? t.next : t.w, t.next_step}; }

/// Adds one part of a row of the panel times the same part of a quad of each pixel.
template <int Part, int Rows, int Vectors>
LATHE_INLINE void int8_part(Ints (&sum)[Rows][Vectors], const uint8_t* x, int64_t stride, const int8_t* w) {
  decltype(load_part<Part>(w)) row[Vectors];
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) row[j] = load_part<Part>(w + j * Vec::width * quad);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const auto pixel = repeat_part(x + i * stride + Part * quad);
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[i][j] = dot(sum[i][j], pixel, row[j]);
  }
}

/// Adds one row of the panel times a quad of each pixel.
template <int Rows, int Vectors>
LATHE_INLINE void int8_step(Ints (&sum)[Rows][Vectors], const uint8_t* x, int64_t stride, PanelWalk& walk) {
  const int8_t* w = walk.w;
  __builtin_prefetch(walk.next, 0, 2);
  walk.w += panel_row;
  walk.next += walk.next_step;
  int8_part<0>(sum, x, stride, w);
  if constexpr (quad_parts == 2) {
    // The row is read again, as there is no free register for it.
    __asm__("" : "+r"(w));
    int8_part<1>(sum, x, stride, w);
  }
}

template <int Rows, int Vectors, int64_t Stride>
LATHE_INLINE void int8_steps(Ints (&sum)[Rows][Vectors], const Int8Tile& t, const int64_t* step,
                             int64_t count, int64_t depth, PanelWalk& walk) {
  const int64_t stride = Stride ? Stride * quad_parts : t.stride;
  for (const int64_t* end = step + count; step < end; ++step) {
    const uint8_t* x = t.x + *step;
    for (const uint8_t* last = x + depth * unpacked_quad; x < last; x += unpacked_quad)
      int8_step<Rows, Vectors>(sum, x, stride, walk);
  }
}

template <int Rows, int Vectors>
LATHE_INLINE void store_sums(const Ints (&sum)[Rows][Vectors], int32_t* to) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) store_ints(to + i * panel_filters + j * Vec::width, sum[i][j]);
  }
}

/// The offset of the results of vector j from y.
LATHE_INLINE int64_t place_of(const Int8Tile& t, int j) {
  return j / tile_block_vectors * t.y_block + j % tile_block_vectors * Vec::width;
}

/// Requantizes sums that are still in registers.
template <int Rows, int Vectors, bool Adds, bool Unclamped>
LATHE_INLINE void requantize_registers(const Int8Tile& t, const Ints (&sum)[Rows][Vectors]) {
  const RequantParams& g = *t.requant;
  // The number of rows that go in fours, whose pixels are contiguous.
  constexpr int by_four = Vec::width == channel_block ? Rows / 4 * 4 : 0;
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int64_t at = place_of(t, j);
    const auto* const other = Adds ? t.other + at : nullptr;
    LATHE_UNROLL
    for (int i = 0; i < by_four; i += 4) {
      const Ints four[] = {sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]};
      requantize_four<Adds, Unclamped>(g, factor, shift, four, Adds ? other + i * channel_block : nullptr,
                                       t.y + at + i * channel_block);
    }
    LATHE_UNROLL
    for (int i = by_four; i < Rows; ++i)
      requantize_vector<Adds, true>(g, factor, shift, sum[i][j], Adds ? other + i * channel_block : nullptr,
                                    t.y + at + i * channel_block);
  }
}

/// Requantizes sums in memory, which is rare.
template <int Vectors, bool Adds>
__attribute__((noinline)) void requantize_memory(const Int8Tile& t, const int32_t* sums, int rows) {
  const RequantParams& g = *t.requant;
  for (int j = 0; j < Vectors; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int64_t at = place_of(t, j);
    for (int i = 0; i < rows; ++i)
      requantize_vector<Adds, false>(g, factor, shift, load_ints(sums + i * panel_filters + j * Vec::width),
                                     Adds ? t.other + at + i * channel_block : nullptr,
                                     t.y + at + i * channel_block);
  }
}

template <int Rows, int Vectors>
LATHE_INLINE void requantize_tile(const Int8Tile& t, const Ints (&sum)[Rows][Vectors]) {
  if (t.requant->saturates) {
    if (needs_no_clamp(*t.requant))
      t.requant->adds ? requantize_registers<Rows, Vectors, true, true>(t, sum)
                      : requantize_registers<Rows, Vectors, false, true>(t, sum);
    else
      t.requant->adds ? requantize_registers<Rows, Vectors, true, false>(t, sum)
                      : requantize_registers<Rows, Vectors, false, false>(t, sum);
  } else {
    alignas(64) int32_t sums[Rows * panel_filters];
    store_sums<Rows, Vectors>(sum, sums);
    t.requant->adds ? requantize_memory<Vectors, true>(t, sums, Rows)
                    : requantize_memory<Vectors, false>(t, sums, Rows);
  }
}

template <int Rows, int Vectors, int64_t Stride>
void int8_tile(const Int8Tile& t) {
  Ints sum[Rows][Vectors], done[Rows][Vectors];
  begin_sums<Rows, Vectors>(sum, t.start);
  PanelWalk walk = walk_of(t);
  int8_steps<Rows, Vectors, Stride>(sum, t, t.steps, t.count, t.depth, walk);
  if (t.last_count > 0)
    int8_steps<Rows, Vectors, Stride>(sum, t, t.steps + t.count, t.last_count, t.last_depth, walk);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) done[i][j] = opaque(sum[i][j]);
  }
  requantize_tile<Rows, Vectors>(t, done);
}

/// Sums packed rows of A: int8_block bytes of each, unpacked, then the next bytes of each.
template <int Rows, int Vectors>
LATHE_INLINE void sum_rows(Ints (&sum)[Rows][Vectors], const Int8Tile& t) {
  begin_sums<Rows, Vectors>(sum, t.start);
  PanelWalk walk = walk_of(t);
  const uint8_t* x = t.x;
  constexpr int64_t block = int8_block * quad_parts;
  for (int64_t i = 0; i <= t.count; ++i, x += Rows * block) {
    const int64_t depth = i < t.count ? block : t.last_depth * unpacked_quad;
    for (int64_t k = 0; k < depth; k += unpacked_quad) int8_step<Rows, Vectors>(sum, x + k, block, walk);
  }
}

template <int Rows, int Vectors>
void sum_tile(const Int8Tile& t) {
  Ints sum[Rows][Vectors];
  sum_rows<Rows, Vectors>(sum, t);
  store_sums<Rows, Vectors>(sum, t.sums);
}

template <int Rows, int Vectors>
void float_tile(const Int8Tile& t) {
  Ints sum[Rows][Vectors];
  sum_rows<Rows, Vectors>(sum, t);
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec scale = load(t.scale + j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i)
      store(t.c + i * t.c_row + j * Vec::width, to_floats(opaque(sum[i][j])) * scale);
  }
}

template <int Vectors, int64_t Stride, int... Rows>
constexpr void fill_int8(Int8Tiles::Run (&to)[max_int8_rows + 1], std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = int8_tile<Rows + 1, Vectors, Stride>), ...);
}
template <int Vectors, int... Rows>
constexpr void fill_products(Int8Tiles& t, bool all, std::integer_sequence<int, Rows...>) {
  ((t.sums[all][Rows + 1] = sum_tile<Rows + 1, Vectors>), ...);
  ((t.floats[all][Rows + 1] = float_tile<Rows + 1, Vectors>), ...);
}
template <int... Kind>
constexpr void fill_kinds(Int8Tiles& t, std::integer_sequence<int, Kind...>) {
  constexpr auto rows = std::make_integer_sequence<int, int8_rows>();
  (fill_int8<tile_block_vectors, int8_strides[Kind]>(t.bytes[Kind][0], rows), ...);
  (fill_int8<tile_block_vectors * tile_blocks, int8_strides[Kind]>(t.bytes[Kind][1], rows), ...);
}

constexpr Int8Tiles make_int8_tiles() {
  Int8Tiles t{.MR = int8_rows,
              .packed_rows = int8_rows,
              .blocks = tile_blocks,
              .parts = quad_parts,
              .unpack = unpack_quads};
  fill_kinds(t, std::make_integer_sequence<int, int8_stride_kinds>());
  constexpr auto rows = std::make_integer_sequence<int, int8_rows>();
  fill_products<tile_block_vectors>(t, false, rows);
  fill_products<tile_block_vectors * tile_blocks>(t, true, rows);
  return t;
}
constexpr Int8Tiles table = make_int8_tiles();
