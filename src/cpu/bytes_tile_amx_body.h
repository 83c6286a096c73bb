// The micro-kernels of bytes_tile.h with tiles. Included by for_each_isa.h only.

#include "cpu/bytes_grid_body.h"

/// Fewer rows are multiplied as fast without: what takes the time is reading the panel.
constexpr int tiled_rows = 3;

/// What is fetched of the next panel with every step of a tile.
struct PanelFetch {
  const int8_t* next;
  int64_t step = 0, left = 0;  // bytes

  LATHE_INLINE void go() {
    const int64_t bytes = step < left ? step : left;
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(next + i, 0, 2);
    next += bytes, left -= bytes;
  }
};

/// The rows of a panel behind the last whole step: A ends in zeros there, but behind the weights there may be
/// nothing.
struct LastRows {
  alignas(64) int8_t rows[tile_depth * panel_row];

  LATHE_INLINE void copy(const int8_t* w, int64_t count) {
    int64_t i = 0;
    for (; i < count * panel_row; i += 64) _mm512_store_si512(rows + i, _mm512_loadu_si512(w + i));
    for (; i < tile_depth * panel_row; i += 64) _mm512_store_si512(rows + i, _mm512_setzero_si512());
  }
};

/// Sums of packed rows of A, in the tile registers. They begin with a row that is read again and again.
template <bool Lower, bool Wide>
LATHE_INLINE void sum_rows(const ByteTile& t, const uint8_t* x, const LastRows& last, PanelFetch& fetch) {
  const int64_t lower = upper_rows(t.rows) * byte_block;
  load_tile<0>(t.start, 0);
  if constexpr (Wide) load_tile<1>(t.start + channel_block, 0);
  if constexpr (Lower) load_tile<2>(t.start, 0);
  if constexpr (Lower && Wide) load_tile<3>(t.start + channel_block, 0);
  const int8_t* w = t.w;
  for (int64_t i = 0; i < t.count; ++i, x += t.rows * byte_block, w += tile_depth * panel_row) {
    fetch.go();
    tile_step<TiledBytes, Lower, Wide>(x, x + lower, w);
  }
  if (t.last_depth > 0) tile_step<TiledBytes, Lower, Wide>(x, x + lower, last.rows);
}

/// The half of a panel that is not wanted may not be there.
template <bool Wide>
LATHE_INLINE void copy_last_rows(const ByteTile& t, LastRows& last) {
  if (t.last_depth == 0) return;
  const int8_t* const w = t.w + t.count * tile_depth * panel_row;
  if constexpr (Wide) return last.copy(w, t.last_depth);
  std::memset(last.rows, 0, sizeof last.rows);
  for (int64_t i = 0; i < t.last_depth; ++i)
    std::memcpy(last.rows + i * panel_row, w + i * panel_row, panel_row / 2);
}

template <bool Lower, bool Wide>
LATHE_INLINE void sum_product(const ByteTile& t, int32_t* sums) {
  LastRows last;
  copy_last_rows<Wide>(t, last);
  const int64_t bytes = t.next ? tile_depth * t.next_step : 0;
  PanelFetch fetch{t.next, bytes, t.count * bytes};
  sum_rows<Lower, Wide>(t, t.x, last, fetch);
  store_tiles<Lower, Wide>(sums, upper_rows(t.rows));
}

template <bool Lower, bool Wide>
void sum_tile(const ByteTile& t) {
  sum_product<Lower, Wide>(t, t.sums);
}

template <bool Lower, bool Wide>
void float_tile(const ByteTile& t) {
  alignas(64) int32_t sums[most_tiled_rows * panel_filters];
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

/// How sums become bytes: as ByteGrid says, as its shortcut allows, and by the shortcut where what is packed
/// already saturates at the least number.
enum class Finish { exact, saturating, plain };

/// The sums of one tile become pixels: number i of a run.
template <bool Adds, Finish How>
void finish_pixels(const ByteTile& t, int64_t blocks, int64_t i, const int32_t* all_sums) {
  const ByteGrid& g = *t.grid;
  for (int64_t j = 0; j < blocks; ++j) {
    const Vec factor = load(g.factor + j * Vec::width), shift = load(g.shift + j * Vec::width);
    const int32_t* sums = all_sums + j * Vec::width;
    const int64_t at = i * t.rows * channel_block + j * t.y_block;
    uint8_t* y = t.y + at;
    const uint8_t* other = Adds ? t.other + at : nullptr;
    int64_t left = t.rows;
    if constexpr (How != Finish::exact)
      for (; left >= 4; left -= 4) {
        const Ints four[] = {load_ints(sums), load_ints(sums + panel_filters),
                             load_ints(sums + 2 * panel_filters), load_ints(sums + 3 * panel_filters)};
        finish_four<Adds, How == Finish::plain>(g, factor, shift, four, other, y);
        sums += 4 * panel_filters, y += 4 * channel_block;
        if (Adds) other += 4 * channel_block;
      }
    for (; left > 0; --left) {
      finish_vector<Adds, How != Finish::exact>(g, factor, shift, load_ints(sums), other, y);
      sums += panel_filters, y += channel_block;
      if (Adds) other += channel_block;
    }
  }
}

using FinishPixels = void (*)(const ByteTile&, int64_t, int64_t, const int32_t*);
template <bool Adds>
LATHE_INLINE FinishPixels finish_of(const ByteGrid& g) {
  return !g.saturates  ? finish_pixels<Adds, Finish::exact>
         : is_plain(g) ? finish_pixels<Adds, Finish::plain>
                       : finish_pixels<Adds, Finish::saturating>;
}

/// Pixels of a tile, which are wanted once it has been multiplied.
LATHE_INLINE void fetch_pixels(const uint8_t* from, int64_t rows) {
  for (int64_t i = 0; i < rows * channel_block; i += 64) __builtin_prefetch(from + i);
}

/// While the products of one tile are on their way, the sums of the one before become pixels.
template <bool Lower, bool Wide>
LATHE_INLINE void pixel_run(const ByteTile& t) {
  alignas(64) int32_t sums[2][most_tiled_rows * panel_filters];
  LastRows last;
  copy_last_rows<Wide>(t, last);
  constexpr int64_t blocks = Wide ? 2 : 1;
  const FinishPixels finish = t.grid->adds ? finish_of<true>(*t.grid) : finish_of<false>(*t.grid);
  const int64_t step = t.rows * (t.count + (t.last_depth > 0)) * byte_block;
  PanelFetch fetch{t.next, t.next_step, t.next ? (t.count * tile_depth + t.last_depth) * panel_row : 0};
  for (int64_t i = 0; i < t.tiles; ++i) {
    for (int64_t j = 0; t.grid->adds && j < blocks; ++j)
      fetch_pixels(t.other + i * t.rows * channel_block + j * t.y_block, t.rows);
    sum_rows<Lower, Wide>(t, t.x + i * step, last, fetch);
    if (i > 0) finish(t, blocks, i - 1, sums[(i - 1) % 2]);
    store_tiles<Lower, Wide>(sums[i % 2], upper_rows(t.rows));
  }
  finish(t, blocks, t.tiles - 1, sums[(t.tiles - 1) % 2]);
}
template <bool Wide>
void pixel_tiles(const ByteTile& t) {
  t.rows > tile_depth ? pixel_run<true, Wide>(t) : pixel_run<false, Wide>(t);
}

LATHE_INLINE __m128i sixteen(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Channels of four steps side by side are a line of packed A.
LATHE_INLINE void gather_line(const ByteGather& g, const int64_t* step, uint8_t* to) {
  const uint8_t *const a = g.x + step[0], *const b = g.x + step[1], *const c = g.x + step[2],
                       *const d = g.x + step[3];
  for (int64_t i = 0; i < g.rows; ++i, to += byte_block) {
    const int64_t at = g.pixels[i];
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(a + at)), sixteen(b + at), 1),
                  high = _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(c + at)), sixteen(d + at), 1);
    _mm512_store_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
}

/// Where quad i of a pixel lies, from x: those of fewer channels follow without a gap.
LATHE_INLINE int64_t place_of_quad(const ByteGather& g, int64_t i) {
  constexpr int64_t full = channel_block / quad;
  if (i < g.count * full) return g.steps[i / full] + i % full * quad;
  i -= g.count * full;
  return g.steps[g.count + i / g.last_depth] + i % g.last_depth * quad;
}

/// 16 quads from anywhere, or at the end fewer.
LATHE_INLINE void gather_quads(const ByteGather& g, int64_t first, int64_t count, uint8_t* to) {
  alignas(64) int32_t places[byte_block / quad] = {};
  const uint8_t* const base = g.x + place_of_quad(g, first);
  for (int64_t i = 0; i < count; ++i)
    places[i] = static_cast<int32_t>(place_of_quad(g, first + i) - place_of_quad(g, first));
  const __m512i from = _mm512_load_si512(places);
  const auto some = static_cast<__mmask16>((1u << count) - 1);
  for (int64_t i = 0; i < g.rows; ++i, to += byte_block)
    _mm512_store_si512(
        to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), some, from, base + g.pixels[i], 1));
}

void gather(const ByteGather& g) {
  constexpr int64_t line = byte_block / quad;
  const int64_t all = g.count * (channel_block / quad) + g.last_count * g.last_depth;
  uint8_t* to = g.to;
  for (int64_t i = 0; i < all; i += line, to += g.rows * byte_block)
    if (i / 4 + 4 <= g.count)
      gather_line(g, g.steps + i / 4, to);
    else
      gather_quads(g, i, all - i < line ? all - i : line, to);
}

template <bool Lower>
constexpr void fill_rows(ByteTiles& t, int rows) {
  t.sums[0][rows] = sum_tile<Lower, false>;
  t.sums[1][rows] = sum_tile<Lower, true>;
  t.floats[0][rows] = float_tile<Lower, false>;
  t.floats[1][rows] = float_tile<Lower, true>;
}

/// Of VNNI: what has few rows, and convolutions that are not gathered.
constexpr ByteTiles make_tiled() {
  ByteTiles t = vnni::table;
  t.packed_rows = most_tiled_rows;
  t.tiled_rows = tiled_rows;
  for (int rows = tiled_rows; rows <= most_tiled_rows; ++rows)
    rows > tile_depth ? fill_rows<true>(t, rows) : fill_rows<false>(t, rows);
  t.pixels[0] = pixel_tiles<false>;
  t.pixels[1] = pixel_tiles<true>;
  t.gather = gather;
  return t;
}
constexpr ByteTiles table = make_tiled();
