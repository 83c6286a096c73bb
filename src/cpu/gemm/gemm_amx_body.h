// Micro-kernels with AMX tiles: for pairs of bfloat16, and for float32 in bf16x3 (cpu/simd/bf16x3_amx.h).
// Included by for_each_isa.h only.

#include "cpu/gemm/gemm_rows_body.h"

/// Fewer rows take two panels at once, and wait for memory.
constexpr int tiled_rows = two_panel_rows + 1;

/// Completes and stores rows of C from the sums in the tiles.
template <bool Lower, bool Wide>
LATHE_INLINE void epilogue_tiles(const Tile& t) {
  constexpr int vectors = Wide ? 2 : 1;
  alignas(64) float sums[max_tiled_rows * 2 * Vec::width];
  store_tiles<Lower, Wide>(sums, upper_rows(t.rows));
  const bool whole = t.columns >= vectors * Vec::width;
  for (int64_t i = 0; i < t.rows; ++i) {
    Vec sum[vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) sum[j] = load(sums + (2 * i + j) * Vec::width);
    epilogue_row(t, i, sum, whole);
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
    // next_step floats with each term are as many lines with each block.
    for (int64_t i = 0; i < t.next_step; ++i, next += a_block) __builtin_prefetch(next, 0, 2);
    tile_step<TiledBf16Dot2, Lower, Wide>(a, a + lower, b);
  }
  if (k > 0) {
    // A ends in zeros, but the memory after B may not exist or hold NaN.
    alignas(64) float last[tile_depth * 2 * Vec::width];
    for (int64_t i = 0; i < tile_depth; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < vectors; ++j)
        store(last + (2 * i + j) * Vec::width, i < k ? load(b + i * t.b_row + j * Vec::width) : zero());
    }
    tile_step<TiledBf16Dot2, Lower, Wide>(a, a + lower, last);
  }
  epilogue_tiles<Lower, Wide>(t);
}

/// Splits `rows` rows of A into steps of three parts of every row; terms beyond the last are 0.
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
      const Bf16x3Pairs p = split_any(load(from) * by, load(from + Vec::width) * by, wrong);
      LATHE_UNROLL
      for (int j = 0; j < part_count; ++j) _mm512_storeu_si512(at + j * part + i * tile_row, p.of[j]);
    }
  }
  return !wrong;
}

/// Computes rows of C in float32.
template <bool Wide>
void float32_rows(const Tile& t) {
  constexpr int vectors = Wide ? 2 : 1;
  const int64_t part = t.rows * tile_row;
  for (int64_t i = 0; i < t.rows; ++i) {
    const char* a = reinterpret_cast<const char*>(t.a) + i * tile_row;
    Vec sum[vectors];
    LATHE_UNROLL
    for (int j = 0; j < vectors; ++j) sum[j] = zero();
    for (int64_t k = 0; k < t.k; k += part_depth, a += part_count * part)
      float32_step(a, part, t.k - k < part_depth ? t.k - k : part_depth, t.b + k * t.b_row, t.b_row, sum);
    epilogue_row(t, i, sum, t.columns >= vectors * Vec::width);
  }
}

template <bool Lower, bool Wide>
void gemm_bf16x3_tile(const Tile& t) {
  if (!t.bf16x3) return float32_rows<Wide>(t);
  const int64_t part = t.rows * tile_row, lower = upper_rows(t.rows) * tile_row;
  clear_tile<0>();
  if constexpr (Wide) clear_tile<1>();
  if constexpr (Lower) clear_tile<2>();
  if constexpr (Lower && Wide) clear_tile<3>();
  const char* a = reinterpret_cast<const char*>(t.a);
  const char* w = reinterpret_cast<const char*>(t.bf16x3);
  const int64_t steps = (t.k + part_depth - 1) / part_depth;
  if (t.split) {
    WeightSplitter splitter(*t.split);
    for (const char* end = w + steps * part_weights; w < end; a += part_count * part, w += part_weights)
      bf16x3_step<Lower, Wide>(a, a + lower, tile_row, part, w, splitter);
    splitter.save();
  } else {
    for (const char* end = w + steps * part_weights; w < end; a += part_count * part, w += part_weights)
      bf16x3_step<Lower, Wide>(a, a + lower, tile_row, part, w);
  }
  epilogue_tiles<Lower, Wide>(t);
}

void split_b(PanelSplit& panel) {
  WeightSplitter splitter(panel);
  while (splitter.left > 0) splitter.pairs(tile_depth);
  splitter.save();
}

/// The kernels of AVX-512's bf16 instructions, with AMX for all but few rows. Not strict: few rows are summed
/// in another order than many.
constexpr GemmKernels make_tiled() {
  GemmKernels g = bf16::table.bf16_dot2[0];
  g.MR = max_tiled_rows;
  g.tiled_rows = tiled_rows;
  for (int rows = tiled_rows; rows <= max_tiled_rows; ++rows) {
    g.one_vector[rows] = rows > tile_depth ? tile<true, false> : tile<false, false>;
    g.two_vectors[rows] = rows > tile_depth ? tile<true, true> : tile<false, true>;
  }
  return g;
}
constexpr GemmKernels table = make_tiled();

/// The kernels of bf16x3, which multiply() uses for many rows.
constexpr GemmKernels make_bf16x3() {
  GemmKernels g = avx512::table.floats[0];
  g.MR = max_tiled_rows;
  g.tiled_rows = 1;
  g.pack_a = nullptr;
  g.split_a = split_a;
  g.split_b = split_b;
  for (int rows = 1; rows <= max_tiled_rows; ++rows) {
    g.one_vector[rows] = rows > tile_depth ? gemm_bf16x3_tile<true, false> : gemm_bf16x3_tile<false, false>;
    g.two_vectors[rows] = rows > tile_depth ? gemm_bf16x3_tile<true, true> : gemm_bf16x3_tile<false, true>;
  }
  return g;
}
constexpr GemmKernels gemm_bf16x3_kernels = make_bf16x3();
constexpr GemmKernels make_floats() {
  GemmKernels g = avx512::table.floats[0];
  g.bf16x3 = &gemm_bf16x3_kernels;
  return g;
}
constexpr GemmKernels floats = make_floats();
