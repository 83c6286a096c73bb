// Products with tiles: of pairs of bfloat16, and of float32 in parts (cpu/parts_amx.h). Included by
// for_each_isa.h only.

#include "cpu/gemm_rows_body.h"

/// Fewer rows go over two panels at once, and wait for memory.
constexpr int tiled_rows = twin_rows + 1;

/// Rows of C from the sums in the tiles.
template <bool Lower, bool Wide>
LATHE_INLINE void finish_tiles(const Tile& t) {
  constexpr int vectors = Wide ? 2 : 1;
  alignas(64) float sums[most_tiled_rows * 2 * Vec::width];
  store_tiles<Lower, Wide>(sums, upper_rows(t.rows));
  const bool whole = t.columns >= vectors * Vec::width;
  for (int64_t i = 0; i < t.rows; ++i) {
    Vec sum[vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) sum[j] = load(sums + (2 * i + j) * Vec::width);
    finish_row(t, i, sum, whole);
  }
}

template <bool Lower, bool Wide>
void tile(const Tile& t) {
  constexpr int vectors = Wide ? 2 : 1;
  const int64_t upper = upper_rows(t.rows), lower = upper * a_block;
  clear_tile<0>();
  if constexpr (Wide) clear_tile<1>();
  if constexpr (Lower) clear_tile<2>();
  if constexpr (Lower && Wide) clear_tile<3>();
  const float *a = t.a, *b = t.b, *next = t.next;
  int64_t k = t.k;
  for (; k >= a_block; k -= a_block, a += t.rows * a_block, b += a_block * t.b_row) {
    // As many lines as floats with each term.
    for (int64_t i = 0; i < t.next_step; ++i, next += a_block) __builtin_prefetch(next, 0, 2);
    tile_step<TiledPairs, Lower, Wide>(a, a + lower, b);
  }
  if (k > 0) {
    // A ends in zeros, but behind B there may be nothing, or what is no number.
    alignas(64) float last[tile_depth * 2 * Vec::width];
    for (int64_t i = 0; i < tile_depth; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < vectors; ++j)
        store(last + (2 * i + j) * Vec::width, i < k ? load(b + i * t.b_row + j * Vec::width) : zero());
    }
    tile_step<TiledPairs, Lower, Wide>(a, a + lower, last);
  }
  finish_tiles<Lower, Wide>(t);
}

/// Splits `rows` rows of A into steps of three parts of every row; what is behind the last term is 0.
bool split_a(float* to, const Operand& a, int64_t rows, int64_t k, float scale) {
  const Vec by = set(scale);
  bool wrong = false;
  char* at = reinterpret_cast<char*>(to);
  const int64_t part = rows * tile_row;
  for (int64_t k0 = 0; k0 < k; k0 += part_depth, at += part_count * part) {
    const int64_t depth = k - k0 < part_depth ? k - k0 : part_depth;
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = a.data + i * a.row + k0 * a.column;
      alignas(64) float terms[part_depth];
      if (a.column != 1 || depth < part_depth) {
        for (int64_t j = 0; j < part_depth; ++j) terms[j] = j < depth ? from[j * a.column] : 0.0f;
        from = terms;
      }
      const PairParts p = split_any(load(from) * by, load(from + Vec::width) * by, wrong);
      LATHE_UNROLL
      for (int j = 0; j < part_count; ++j) _mm512_storeu_si512(at + j * part + i * tile_row, p.of[j]);
    }
  }
  return !wrong;
}

/// Rows of C in products of float32.
template <bool Wide>
void plain_rows(const Tile& t) {
  constexpr int vectors = Wide ? 2 : 1;
  const int64_t part = t.rows * tile_row;
  for (int64_t i = 0; i < t.rows; ++i) {
    const char* a = reinterpret_cast<const char*>(t.a) + i * tile_row;
    Vec sum[vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) sum[j] = zero();
    for (int64_t k = 0; k < t.k; k += part_depth, a += part_count * part)
      plain_step(a, part, t.k - k < part_depth ? t.k - k : part_depth, t.b + k * t.b_row, t.b_row, sum);
    finish_row(t, i, sum, t.columns >= vectors * Vec::width);
  }
}

template <bool Lower, bool Wide>
void tile_of_parts(const Tile& t) {
  if (!t.parts) return plain_rows<Wide>(t);
  const int64_t part = t.rows * tile_row, lower = upper_rows(t.rows) * tile_row;
  clear_tile<0>();
  if constexpr (Wide) clear_tile<1>();
  if constexpr (Lower) clear_tile<2>();
  if constexpr (Lower && Wide) clear_tile<3>();
  const char* a = reinterpret_cast<const char*>(t.a);
  const char* w = reinterpret_cast<const char*>(t.parts);
  const int64_t steps = (t.k + part_depth - 1) / part_depth;
  if (t.split) {
    WeightSplitter splitter(*t.split);
    for (const char* end = w + steps * part_weights; w < end; a += part_count * part, w += part_weights)
      parts_step<Lower, Wide>(a, a + lower, tile_row, part, w, splitter);
    splitter.save();
  } else {
    for (const char* end = w + steps * part_weights; w < end; a += part_count * part, w += part_weights)
      parts_step<Lower, Wide>(a, a + lower, tile_row, part, w);
  }
  finish_tiles<Lower, Wide>(t);
}

void split_b(PanelSplit& panel) {
  WeightSplitter splitter(panel);
  while (splitter.left > 0) splitter.pairs(tile_depth);
  splitter.save();
}

/// Of AVX-512's own instructions: few rows. Not strict: those are summed in another order.
constexpr GemmKernels make_tiled() {
  GemmKernels g = bf16::table.pairs[0];
  g.max_rows = most_tiled_rows;
  g.tiled_rows = tiled_rows;
  for (int rows = tiled_rows; rows <= most_tiled_rows; ++rows) {
    g.narrow[rows] = rows > tile_depth ? tile<true, false> : tile<false, false>;
    g.wide[rows] = rows > tile_depth ? tile<true, true> : tile<false, true>;
  }
  return g;
}
constexpr GemmKernels table = make_tiled();

/// All products of many rows.
constexpr GemmKernels make_parts() {
  GemmKernels g = avx512::table.floats[0];
  g.max_rows = most_tiled_rows;
  g.tiled_rows = 1;
  g.pack_a = nullptr;
  g.split_a = split_a;
  g.split_b = split_b;
  for (int rows = 1; rows <= most_tiled_rows; ++rows) {
    g.narrow[rows] = rows > tile_depth ? tile_of_parts<true, false> : tile_of_parts<false, false>;
    g.wide[rows] = rows > tile_depth ? tile_of_parts<true, true> : tile_of_parts<false, true>;
  }
  return g;
}
constexpr GemmKernels of_parts = make_parts();
constexpr GemmKernels make_floats() {
  GemmKernels g = avx512::table.floats[0];
  g.parts = &of_parts;
  return g;
}
constexpr GemmKernels floats = make_floats();
