// The micro-kernels of bytes_tile.h for one instruction set. Included by for_each_isa.h only.

#include "cpu/bytes_grid_body.h"

constexpr int tile_block_vectors = static_cast<int>(channel_block / Vec::width);
constexpr bool has_vnni = Vec::width == 16 && LATHE_VNNI;
constexpr int byte_rows = has_vnni ? 14 : Vec::width == 16 ? 12 : Vec::width == 8 ? 6 : 2;
constexpr int tile_blocks = Vec::width == 16 ? 2 : 1;
/// What a quad takes where it is multiplied.
constexpr int64_t spread_quad = quad * quad_parts;

template <int Rows, int Vectors>
LATHE_INLINE void begin_sums(Ints (&sum)[Rows][Vectors], const int32_t* start) {
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Ints from = load_ints(start + j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) sum[i][j] = from;
  }
}

/// Where a tile is in its panel, and in what it fetches.
struct PanelWalk {
  const int8_t* w;
  const int8_t* next;
  int64_t next_step;
};
LATHE_INLINE PanelWalk walk_of(const ByteTile& t) { return {t.w, t.next ? t.next : t.w, t.next_step}; }

/// One part of a row of the panel, times that of a quad of each pixel.
template <int Part, int Rows, int Vectors>
LATHE_INLINE void byte_part(Ints (&sum)[Rows][Vectors], const uint8_t* x, int64_t stride, const int8_t* w) {
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

/// One row of the panel, times a quad of each pixel.
template <int Rows, int Vectors>
LATHE_INLINE void byte_step(Ints (&sum)[Rows][Vectors], const uint8_t* x, int64_t stride, PanelWalk& walk) {
  const int8_t* w = walk.w;
  __builtin_prefetch(walk.next, 0, 2);
  walk.w += panel_row;
  walk.next += walk.next_step;
  byte_part<0>(sum, x, stride, w);
  if constexpr (quad_parts == 2) {
    // The row is read again: there is no register to keep it in.
    __asm__("" : "+r"(w));
    byte_part<1>(sum, x, stride, w);
  }
}

template <int Rows, int Vectors, int64_t Stride>
LATHE_INLINE void byte_steps(Ints (&sum)[Rows][Vectors], const ByteTile& t, const int64_t* step,
                             int64_t count, int64_t depth, PanelWalk& walk) {
  const int64_t stride = Stride ? Stride * quad_parts : t.stride;
  for (const int64_t* end = step + count; step < end; ++step) {
    const uint8_t* x = t.x + *step;
    for (const uint8_t* last = x + depth * spread_quad; x < last; x += spread_quad)
      byte_step<Rows, Vectors>(sum, x, stride, walk);
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

/// Where the results of vector j begin, from y.
LATHE_INLINE int64_t place_of(const ByteTile& t, int j) {
  return j / tile_block_vectors * t.y_block + j % tile_block_vectors * Vec::width;
}

/// Sums that are still in registers.
template <int Rows, int Vectors, bool Adds, bool Plain>
LATHE_INLINE void finish_registers(const ByteTile& t, const Ints (&sum)[Rows][Vectors]) {
  const ByteGrid& g = *t.grid;
  // Pixels that lie one after the other as vectors do.
  constexpr int by_four = Vec::width == channel_block ? Rows / 4 * 4 : 0;
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int64_t at = place_of(t, j);
    const auto* const other = Adds ? t.other + at : nullptr;
    LATHE_UNROLL
    for (int i = 0; i < by_four; i += 4) {
      const Ints four[] = {sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]};
      finish_four<Adds, Plain>(g, factor, shift, four, Adds ? other + i * channel_block : nullptr,
                               t.y + at + i * channel_block);
    }
    LATHE_UNROLL
    for (int i = by_four; i < Rows; ++i)
      finish_vector<Adds, true>(g, factor, shift, sum[i][j], Adds ? other + i * channel_block : nullptr,
                                t.y + at + i * channel_block);
  }
}

/// Sums in memory: what is rare.
template <int Vectors, bool Adds>
__attribute__((noinline)) void finish_memory(const ByteTile& t, const int32_t* sums, int rows) {
  const ByteGrid& g = *t.grid;
  for (int j = 0; j < Vectors; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int64_t at = place_of(t, j);
    for (int i = 0; i < rows; ++i)
      finish_vector<Adds, false>(g, factor, shift, load_ints(sums + i * panel_filters + j * Vec::width),
                                 Adds ? t.other + at + i * channel_block : nullptr,
                                 t.y + at + i * channel_block);
  }
}

template <int Rows, int Vectors>
LATHE_INLINE void finish_tile(const ByteTile& t, const Ints (&sum)[Rows][Vectors]) {
  if (t.grid->saturates) {
    if (is_plain(*t.grid))
      t.grid->adds ? finish_registers<Rows, Vectors, true, true>(t, sum)
                   : finish_registers<Rows, Vectors, false, true>(t, sum);
    else
      t.grid->adds ? finish_registers<Rows, Vectors, true, false>(t, sum)
                   : finish_registers<Rows, Vectors, false, false>(t, sum);
  } else {
    alignas(64) int32_t sums[Rows * panel_filters];
    store_sums<Rows, Vectors>(sum, sums);
    t.grid->adds ? finish_memory<Vectors, true>(t, sums, Rows) : finish_memory<Vectors, false>(t, sums, Rows);
  }
}

template <int Rows, int Vectors, int64_t Stride>
void byte_tile(const ByteTile& t) {
  Ints sum[Rows][Vectors], done[Rows][Vectors];
  begin_sums<Rows, Vectors>(sum, t.start);
  PanelWalk walk = walk_of(t);
  byte_steps<Rows, Vectors, Stride>(sum, t, t.steps, t.count, t.depth, walk);
  if (t.last_count > 0)
    byte_steps<Rows, Vectors, Stride>(sum, t, t.steps + t.count, t.last_count, t.last_depth, walk);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) done[i][j] = apart(sum[i][j]);
  }
  finish_tile<Rows, Vectors>(t, done);
}

/// Rows of A as they are packed: byte_block bytes of each, spread, then the next bytes of each.
template <int Rows, int Vectors>
LATHE_INLINE void sum_rows(Ints (&sum)[Rows][Vectors], const ByteTile& t) {
  begin_sums<Rows, Vectors>(sum, t.start);
  PanelWalk walk = walk_of(t);
  const uint8_t* x = t.x;
  constexpr int64_t block = byte_block * quad_parts;
  for (int64_t i = 0; i <= t.count; ++i, x += Rows * block) {
    const int64_t depth = i < t.count ? block : t.last_depth * spread_quad;
    for (int64_t k = 0; k < depth; k += spread_quad) byte_step<Rows, Vectors>(sum, x + k, block, walk);
  }
}

template <int Rows, int Vectors>
void sum_tile(const ByteTile& t) {
  Ints sum[Rows][Vectors];
  sum_rows<Rows, Vectors>(sum, t);
  store_sums<Rows, Vectors>(sum, t.sums);
}

template <int Rows, int Vectors>
void float_tile(const ByteTile& t) {
  Ints sum[Rows][Vectors];
  sum_rows<Rows, Vectors>(sum, t);
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const Vec scale = load(t.scale + j * Vec::width);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i)
      store(t.c + i * t.c_row + j * Vec::width, to_floats(apart(sum[i][j])) * scale);
  }
}

template <int Vectors, int64_t Stride, int... Rows>
constexpr void fill_bytes(ByteTiles::Run (&to)[most_byte_rows + 1], std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = byte_tile<Rows + 1, Vectors, Stride>), ...);
}
template <int Vectors, int... Rows>
constexpr void fill_products(ByteTiles& t, bool all, std::integer_sequence<int, Rows...>) {
  ((t.sums[all][Rows + 1] = sum_tile<Rows + 1, Vectors>), ...);
  ((t.floats[all][Rows + 1] = float_tile<Rows + 1, Vectors>), ...);
}
template <int... Kind>
constexpr void fill_kinds(ByteTiles& t, std::integer_sequence<int, Kind...>) {
  constexpr auto rows = std::make_integer_sequence<int, byte_rows>();
  (fill_bytes<tile_block_vectors, byte_strides[Kind]>(t.bytes[Kind][0], rows), ...);
  (fill_bytes<tile_block_vectors * tile_blocks, byte_strides[Kind]>(t.bytes[Kind][1], rows), ...);
}

constexpr ByteTiles make_byte_tiles() {
  ByteTiles t{.max_rows = byte_rows,
              .packed_rows = byte_rows,
              .blocks = tile_blocks,
              .parts = quad_parts,
              .spread = spread_quads};
  fill_kinds(t, std::make_integer_sequence<int, byte_stride_kinds>());
  constexpr auto rows = std::make_integer_sequence<int, byte_rows>();
  fill_products<tile_block_vectors>(t, false, rows);
  fill_products<tile_block_vectors * tile_blocks>(t, true, rows);
  return t;
}
constexpr ByteTiles table = make_byte_tiles();
