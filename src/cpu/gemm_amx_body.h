// Products of pairs of bfloat16 with tiles. Included by for_each_isa.h only.

#include "cpu/gemm_rows_body.h"

/// Fewer rows go over two panels at once, and wait for memory.
constexpr int tiled_rows = twin_rows + 1;

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
    for (int64_t i = 0; i < t.next_rows; ++i, next += t.b_row) {
      LATHE_UNROLL
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(next + j * Vec::width, 0, 2);
    }
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
  alignas(64) float sums[most_tiled_rows * 2 * Vec::width];
  store_tiles<Lower, Wide>(sums, upper);
  const bool whole = t.columns >= vectors * Vec::width;
  for (int64_t i = 0; i < t.rows; ++i) {
    Vec sum[vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) sum[j] = load(sums + (2 * i + j) * Vec::width);
    finish_row(t, i, sum, whole);
  }
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
