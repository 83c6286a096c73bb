// The micro-kernels of int8_tile.h with AMX tiles. Included by for_each_isa.h only.

#include "cpu/quantized/requantize_body.h"

/// Fewer rows are multiplied as fast without tiles, as reading the panel takes the time.
constexpr int tiled_rows = 3;

/// Prefetches a share of the next panel with every step of a tile.
struct PanelFetch {
  const int8_t* next;
  int64_t step = 0, left = 0;  // bytes

  LATHE_INLINE void go() {
    const int64_t bytes = step < left ? step : left;
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(next + i, 0, 2);
    next += bytes, left -= bytes;
  }
};

/// A copy of the rows of a panel after the last whole step: A ends in zeros there, but memory may end after
/// the weights.
struct LastRows {
  alignas(64) int8_t rows[tile_depth * panel_row];

  LATHE_INLINE void copy(const int8_t* w, int64_t count) {
    int64_t i = 0;
    for (; i < count * panel_row; i += 64) _mm512_store_si512(rows + i, _mm512_loadu_si512(w + i));
    for (; i < tile_depth * panel_row; i += 64) _mm512_store_si512(rows + i, _mm512_setzero_si512());
  }
};

/// Sums packed rows of A in the tile registers, all of whose rows are loaded from the same `start`.
template <bool Lower, bool Wide>
LATHE_INLINE void sum_rows(const Int8Tile& t, const uint8_t* x, const LastRows& last, PanelFetch& fetch) {
  const int64_t lower = upper_rows(t.rows) * int8_block;
  load_tile<0>(t.start, 0);
  if constexpr (Wide) load_tile<1>(t.start + channel_block, 0);
  if constexpr (Lower) load_tile<2>(t.start, 0);
  if constexpr (Lower && Wide) load_tile<3>(t.start + channel_block, 0);
  const int8_t* w = t.w;
  for (int64_t i = 0; i < t.count; ++i, x += t.rows * int8_block, w += tile_depth * panel_row) {
    fetch.go();
    tile_step<TiledInt8, Lower, Wide>(x, x + lower, w);
  }
  if (t.last_depth > 0) tile_step<TiledInt8, Lower, Wide>(x, x + lower, last.rows);
}

/// Copies the last rows; the second half of a panel may be missing if it is not used.
template <bool Wide>
LATHE_INLINE void copy_last_rows(const Int8Tile& t, LastRows& last) {
  if (t.last_depth == 0) return;
  const int8_t* const w = t.w + t.count * tile_depth * panel_row;
  if constexpr (Wide) return last.copy(w, t.last_depth);
  std::memset(last.rows, 0, sizeof last.rows);
  for (int64_t i = 0; i < t.last_depth; ++i)
    std::memcpy(last.rows + i * panel_row, w + i * panel_row, panel_row / 2);
}

template <bool Lower, bool Wide>
LATHE_INLINE void sum_product(const Int8Tile& t, int32_t* sums) {
  LastRows last;
  copy_last_rows<Wide>(t, last);
  const int64_t bytes = t.next ? tile_depth * t.next_step : 0;
  PanelFetch fetch{t.next, bytes, t.count * bytes};
  sum_rows<Lower, Wide>(t, t.x, last, fetch);
  store_tiles<Lower, Wide>(sums, upper_rows(t.rows));
}

template <bool Lower, bool Wide>
void sum_tile(const Int8Tile& t) {
  sum_product<Lower, Wide>(t, t.sums);
}

template <bool Lower, bool Wide>
void float_tile(const Int8Tile& t) {
  alignas(64) int32_t sums[max_tiled_rows * panel_filters];
  sum_product<Lower, Wide>(t, sums);
  constexpr int vectors = Wide ? 2 : 1;
  Vec scale[vectors];
  LATHE_UNROLL
  for (int j = 0; j < vectors; ++j) scale[j] = load(t.scale + j * Vec::width);
  for (int64_t i = 0; i < t.rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j)
      store(t.c + i * t.c_row + j * Vec::width,
            to_floats(load_ints(sums + i * panel_filters + j * Vec::width)) * scale[j]);
  }
}

/// The kinds of requantization: as in RequantParams, by its shortcut, and by the shortcut where packing
/// already saturates at the least value.
enum class Requantization { exact, saturating, unclamped };

/// Requantizes the sums of tile i of a run to pixels.
template <bool Adds, Requantization How>
void requantize_pixels(const Int8Tile& t, int64_t blocks, int64_t i, const int32_t* all_sums) {
  const RequantParams& g = *t.requant;
  for (int64_t j = 0; j < blocks; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int32_t* sums = all_sums + j * Vec::width;
    const int64_t at = i * t.rows * channel_block + j * t.y_block;
    uint8_t* y = t.y + at;
    const uint8_t* other = Adds ? t.other + at : nullptr;
    int64_t left = t.rows;
    if constexpr (How != Requantization::exact)
      for (; left >= 4; left -= 4) {
        const Ints four[] = {load_ints(sums), load_ints(sums + panel_filters),
                             load_ints(sums + 2 * panel_filters), load_ints(sums + 3 * panel_filters)};
        requantize_four<Adds, How == Requantization::unclamped>(g, factor, shift, four, other, y);
        sums += 4 * panel_filters, y += 4 * channel_block;
        if (Adds) other += 4 * channel_block;
      }
    for (; left > 0; --left) {
      requantize_vector<Adds, How != Requantization::exact>(g, factor, shift, load_ints(sums), other, y);
      sums += panel_filters, y += channel_block;
      if (Adds) other += channel_block;
    }
  }
}

using RequantizePixels = void (*)(const Int8Tile&, int64_t, int64_t, const int32_t*);
template <bool Adds>
LATHE_INLINE RequantizePixels requantize_of(const RequantParams& g) {
  return !g.saturates        ? requantize_pixels<Adds, Requantization::exact>
         : needs_no_clamp(g) ? requantize_pixels<Adds, Requantization::unclamped>
                             : requantize_pixels<Adds, Requantization::saturating>;
}

/// Prefetches pixels that are added to a tile once it has been multiplied.
LATHE_INLINE void fetch_pixels(const uint8_t* from, int64_t rows) {
  for (int64_t i = 0; i < rows * channel_block; i += 64) __builtin_prefetch(from + i);
}

/// While one tile is multiplied, the sums of the one before are requantized.
template <bool Lower, bool Wide>
LATHE_INLINE void pixel_run(const Int8Tile& t) {
  alignas(64) int32_t sums[2][max_tiled_rows * panel_filters];
  LastRows last;
  copy_last_rows<Wide>(t, last);
  constexpr int64_t blocks = Wide ? 2 : 1;
  const RequantizePixels requantize =
      t.requant->adds ? requantize_of<true>(*t.requant) : requantize_of<false>(*t.requant);
  const int64_t step = t.rows * (t.count + (t.last_depth > 0)) * int8_block;
  PanelFetch fetch{t.next, t.next_step, t.next ? (t.count * tile_depth + t.last_depth) * panel_row : 0};
  for (int64_t i = 0; i < t.tiles; ++i) {
    for (int64_t j = 0; t.requant->adds && j < blocks; ++j)
      fetch_pixels(t.other + i * t.rows * channel_block + j * t.y_block, t.rows);
    sum_rows<Lower, Wide>(t, t.x + i * step, last, fetch);
    if (i > 0) requantize(t, blocks, i - 1, sums[(i - 1) % 2]);
    store_tiles<Lower, Wide>(sums[i % 2], upper_rows(t.rows));
  }
  requantize(t, blocks, t.tiles - 1, sums[(t.tiles - 1) % 2]);
}
template <bool Wide>
void pixel_tiles(const Int8Tile& t) {
  t.rows > tile_depth ? pixel_run<true, Wide>(t) : pixel_run<false, Wide>(t);
}

LATHE_INLINE __m128i sixteen(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Gathers lines of packed A, each of the channels of four steps.
LATHE_INLINE void gather_line(const Int8Gather& g, const int64_t* step, uint8_t* to) {
  const uint8_t *const a = g.x + step[0], *const b = g.x + step[1], *const c = g.x + step[2],
                       *const d = g.x + step[3];
  for (int64_t i = 0; i < g.rows; ++i, to += int8_block) {
    const int64_t at = g.pixels[i];
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(a + at)), sixteen(b + at), 1),
                  high = _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(c + at)), sixteen(d + at), 1);
    _mm512_store_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
}

/// The offset of quad i of a pixel from x; quads of the partial block follow without a gap.
LATHE_INLINE int64_t place_of_quad(const Int8Gather& g, int64_t i) {
  constexpr int64_t full = channel_block / quad;
  if (i < g.count * full) return g.steps[i / full] + i % full * quad;
  i -= g.count * full;
  return g.steps[g.count + i / g.last_depth] + i % g.last_depth * quad;
}

/// Gathers 16 quads from any places, or fewer at the end.
LATHE_INLINE void gather_quads(const Int8Gather& g, int64_t first, int64_t count, uint8_t* to) {
  alignas(64) int32_t places[int8_block / quad] = {};
  const uint8_t* const base = g.x + place_of_quad(g, first);
  for (int64_t i = 0; i < count; ++i)
    places[i] = static_cast<int32_t>(place_of_quad(g, first + i) - place_of_quad(g, first));
  const __m512i from = _mm512_load_si512(places);
  const auto some = static_cast<__mmask16>((1u << count) - 1);
  for (int64_t i = 0; i < g.rows; ++i, to += int8_block)
    _mm512_store_si512(
        to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), some, from, base + g.pixels[i], 1));
}

void gather(const Int8Gather& g) {
  constexpr int64_t line = int8_block / quad;
  const int64_t all = g.count * (channel_block / quad) + g.last_count * g.last_depth;
  uint8_t* to = g.to;
  for (int64_t i = 0; i < all; i += line, to += g.rows * int8_block)
    if (i / 4 + 4 <= g.count)
      gather_line(g, g.steps + i / 4, to);
    else
      gather_quads(g, i, all - i < line ? all - i : line, to);
}

template <bool Lower>
constexpr void fill_rows(Int8Tiles& t, int rows) {
  t.sums[0][rows] = sum_tile<Lower, false>;
  t.sums[1][rows] = sum_tile<Lower, true>;
  t.floats[0][rows] = float_tile<Lower, false>;
  t.floats[1][rows] = float_tile<Lower, true>;
}

/// Takes kernels for few rows and for convolutions that are not gathered from VNNI.
constexpr Int8Tiles make_tiled() {
  Int8Tiles t = vnni::table;
  t.packed_rows = max_tiled_rows;
  t.tiled_rows = tiled_rows;
  for (int rows = tiled_rows; rows <= max_tiled_rows; ++rows)
    rows > tile_depth ? fill_rows<true>(t, rows) : fill_rows<false>(t, rows);
  t.pixels[0] = pixel_tiles<false>;
  t.pixels[1] = pixel_tiles<true>;
  t.gather = gather;
  return t;
}
constexpr Int8Tiles table = make_tiled();
