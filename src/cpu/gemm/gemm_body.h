// The micro-kernels of matrix multiplication for one instruction set. Included by for_each_isa.h only.
//
// A micro-kernel keeps Rows (at most MR) x Vectors registers of C, NR columns, along a block of k (at most
// KC): every step loads one row of the packed panel of B and broadcasts one element of each row of A. A is
// stored in blocks of 16 k, row after row, so that packing copies whole cache lines and all addresses in the
// loop differ by constants.
//
// Products of bfloat16 use the same loops over elements that are pairs: two neighboring terms in 32 bits.

#include "cpu/gemm/gemm_rows_body.h"

/// The number of partial sums of each element, so that a few rows do not wait for the latency of their
/// additions. It is the same for one panel and for two, hence so are the bits. Strict: the same for any
/// number of rows.
constexpr int partial_sums(int rows, bool strict) { return !strict && rows == 1 ? 2 : 1; }

struct Floats {
  static constexpr int64_t line = 16;  // elements
  /// How many rows ahead B is prefetched (measured on Intel Xeons, two panels of 1 to 4 rows of A: from 4 on
  /// all are as good for floats, 16 best for pairs; on a Zen 5 decoding loses 6 % with 32).
  static constexpr int64_t rows_ahead = 16;
  static LATHE_INLINE Vec load_b(const float* b, int64_t at) { return load(b + at); }
  static LATHE_INLINE const float* next(const float* b, int64_t n) { return b + n; }
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { accumulate(sum, x, y); }
};
/// Elements of B that are floats of 16 bits.
template <class F16>
struct F16Panels : Floats {
  static constexpr int64_t line = 32;
  /// Their rows are half as long. On a Zen 5 decoding takes 8.3 ms with 16, 7.1 with 32, 6.8 with 64, 7.5
  /// with 128.
  static constexpr int64_t rows_ahead = 64;
  static LATHE_INLINE Vec load_b(const float* b, int64_t at) {
    return load_f16(reinterpret_cast<const F16*>(b) + at);
  }
  static LATHE_INLINE const float* next(const float* b, int64_t n) {
    return reinterpret_cast<const float*>(reinterpret_cast<const F16*>(b) + n);
  }
};
struct Bf16Dot2 : Floats {
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { sum = bf16_dot2(x, y, sum); }
};

/// How reads from memory are prefetched. for_cache: into the second-level cache, as the first one can only
/// wait for few lines at once (measured on a Zen 4, one row of A: floats 28 to 30 GB/s, bfloat16 26 to 31; on
/// a Zen 5 both are the same). once: past that cache, which keeps its other contents (on a Zen 5 1.4 % of
/// decoding with floats, 3 to 5 with bfloat16, up to 2 of EfficientNet, whose classifier comes last).
enum class Prefetch { none, for_cache, once };
template <Prefetch kind>
LATHE_INLINE void prefetch_line(const float* p) {
  if constexpr (kind == Prefetch::for_cache) __builtin_prefetch(p, 0, 2);
  if constexpr (kind == Prefetch::once) __builtin_prefetch(p, 0, 0);
}

/// Prefetches `step` floats with each term, up to two lines. Term by term, as prefetching much from memory at
/// once takes longer than waiting for it. Small tiles cannot spare instructions: they prefetch with one of
/// four terms, and no more than a line where many tiles share the next block.
LATHE_INLINE void prefetch_next(const float*& next, int64_t step, int term) {
  constexpr int terms = Vec::width == 16 ? 1 : 4;
  if (term % terms != 0) return;
  __builtin_prefetch(next, 0, 2);
  if (terms == 1 || step * terms > 16) {
    LATHE_UNROLL
    for (int i = 1; i < (terms == 1 ? 2 : 4); ++i) __builtin_prefetch(next + 16 * i, 0, 2);
  }
  next += terms * step;
}

template <class Elements, Prefetch kind, int Rows, int Vectors>
LATHE_INLINE void multiply_step(Vec (&sum)[Rows][Vectors], const float* a, const float* b, int64_t b_panel,
                                const float* soon) {
  Vec row[Vectors];
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const int64_t at = j / panel_vectors * b_panel + j % panel_vectors * Vec::width;
    row[j] = Elements::load_b(b, at);
    if constexpr (kind != Prefetch::none)
      if (j % panel_vectors * Vec::width % Elements::line == 0) prefetch_line<kind>(Elements::next(soon, at));
  }
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec x = set(a[i * a_block]);
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) Elements::add_product(sum[i][j], x, row[j]);
  }
}

template <class Elements, int Rows, int Vectors, int sums, Prefetch kind>
void tile(const Tile& t) {
  const bool whole = t.columns >= Vectors * Vec::width;
  Vec sum[sums][Rows][Vectors];
  LATHE_UNROLL
  for (int s = 0; s < sums; ++s) {
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < Vectors; ++j) sum[s][i][j] = zero();
    }
  }
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    // All lines of a row: half of them cost a sixteenth of the product of 128 x 768 x 3072 on a Zen 5.
    LATHE_UNROLL
    for (int j = 0; j < Vectors * Vec::width; j += 16) prefetch(t.c + i * t.c_row + j);
  }

  const float* a = t.a;
  const float* b = t.b;
  constexpr int64_t rows_ahead = Elements::rows_ahead;
  constexpr bool streams = kind != Prefetch::none, fetches = !streams && Vectors <= panel_vectors;
  const float* next = t.next ? t.next : t.b;  // prefetching cached lines takes no time
  const float* after = t.after ? t.after : t.b;
  int64_t k = t.k;
  for (; k >= a_block; k -= a_block, a += Rows * a_block) {
    // After a panel's last rows the first ones of the next are prefetched.
    const float* soon = nullptr;
    if (streams)
      soon = k > rows_ahead ? Elements::next(b, rows_ahead * t.b_row)
                            : Elements::next(after, (rows_ahead - k) * t.b_row);
    // Four rows in each iteration: with sixteen unrolled, a Zen 5 no longer detects the sequential order and
    // reads half as fast (1 row of A, B in the second-level cache: 127 GB/s, with four 220).
    LATHE_ROLLED
    for (int64_t kk = 0; kk < a_block; kk += 4) {
      LATHE_UNROLL
      for (int u = 0; u < 4; ++u, b = Elements::next(b, t.b_row)) {
        multiply_step<Elements, kind>(sum[u % sums], a + kk + u, b, t.b_panel, soon);
        if (streams) soon = Elements::next(soon, t.b_row);
        if (fetches) prefetch_next(next, t.next_step, u);
      }
    }
  }
  for (int64_t kk = 0; kk < k; ++kk, b = Elements::next(b, t.b_row))
    multiply_step<Elements, Prefetch::none>(sum[0], a + kk, b, t.b_panel, nullptr);

  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int s = 1; s < sums; ++s) {
      LATHE_UNROLL
      for (int j = 0; j < Vectors; ++j) sum[0][i][j] = sum[0][i][j] + sum[s][i][j];
    }
    epilogue_row(t, i, sum[0][i], whole);
  }
}

void epilogue_sums(const Tile& t, const float* sums) {
  const bool whole = t.columns >= NR;
  for (int64_t i = 0; i < t.rows; ++i) {
    Vec sum[panel_vectors];
    load_row(sum, sums + i * NR, NR, true);
    epilogue_row(t, i, sum, whole);
  }
}

template <class Elements, int Vectors, bool Strict, Prefetch kind = Prefetch::none, size_t Most, int... Rows>
constexpr void fill_tiles(void (*(&to)[Most])(const Tile&), std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = tile<Elements, Rows + 1, Vectors, partial_sums(Rows + 1, Strict), kind>), ...);
}

/// Copies `rows` rows of A into blocks; the last block is filled up with zeros.
void pack_a(float* to, const Operand& a, int64_t rows, int64_t k, float scale) {
  const Vec by = set(scale);
  for (int64_t k0 = 0; k0 < k; k0 += a_block) {
    const int64_t depth = k - k0 < a_block ? k - k0 : a_block;
    for (int64_t i = 0; i < rows; ++i, to += a_block) {
      const float* from = a.data + i * a.row + k0 * a.column;
      if (a.column == 1 && depth == a_block) {
        for (int64_t j = 0; j < a_block; j += Vec::width) store(to + j, load(from + j) * by);
      } else {
        for (int64_t j = 0; j < a_block; ++j) to[j] = j < depth ? from[j * a.column] * scale : 0.0f;
      }
    }
  }
}

/// The same for `k` pairs of neighbors of a row, rounded to bfloat16: element (i, j) is the pair of floats at
/// i * row + 2 * j.
void pack_a_bf16_pairs(float* to, const Operand& a, int64_t rows, int64_t k, float scale) {
  const Vec by = set(scale);
  for (int64_t k0 = 0; k0 < k; k0 += a_block) {
    const int64_t depth = k - k0 < a_block ? k - k0 : a_block;
    for (int64_t i = 0; i < rows; ++i, to += a_block) {
      const float* from = a.data + i * a.row + 2 * k0;
      BFloat16* const rounded = reinterpret_cast<BFloat16*>(to);
      if (depth == a_block) {
        for (int64_t j = 0; j < 2 * a_block; j += Vec::width) store_f16(rounded + j, load(from + j) * by);
      } else {
        for (int64_t j = 0; j < 2 * a_block; ++j)
          rounded[j] = to_bfloat16(j < 2 * depth ? from[j] * scale : 0.0f);
      }
    }
  }
}

/// Packs one panel of B whose columns are dense, transposing squares.
void pack_columns(float* to, const Operand& b, int64_t k, int64_t columns) {
  for (int64_t k0 = 0; k0 < k; k0 += Vec::width, to += Vec::width * NR) {
    const int64_t depth = k - k0 < Vec::width ? k - k0 : Vec::width;
    for (int64_t j = 0; j < NR; j += Vec::width) {
      Vec square[Vec::width];
      const float* const from = b.data + j * b.column + k0;
      if (depth == Vec::width && columns - j >= Vec::width)
        load_transposed<true>(square, from, b.column, Vec::width, depth);
      else
        load_transposed<false>(square, from, b.column, columns - j, depth);
      LATHE_UNROLL
      for (int64_t i = 0; i < Vec::width; ++i)
        if (i < depth) store(to + i * NR + j, square[i]);
    }
  }
}

/// Copies one panel of B, `columns` wide; the rest of the panel is filled up with zeros.
void pack_b(float* to, const Operand& b, int64_t k, int64_t columns) {
  if (b.column == 1) {
    const bool whole = columns >= NR;
    for (int64_t kk = 0; kk < k; ++kk, to += NR) {
      Vec row[panel_vectors];
      load_row(row, b.data + kk * b.row, columns, whole);
      store_row(to, row, NR, true);
    }
    return;
  }
  if (b.row == 1) return pack_columns(to, b, k, columns);
  // In squares, so that lines stay in the cache until their other columns are read.
  for (int64_t k0 = 0; k0 < k; k0 += 16) {
    const int64_t k1 = k - k0 < 16 ? k : k0 + 16;
    for (int64_t j = 0; j < NR; ++j)
      for (int64_t kk = k0; kk < k1; ++kk)
        to[kk * NR + j] = j < columns ? b.data[kk * b.row + j * b.column] : 0.0f;
  }
}

template <class Elements, bool Strict>
constexpr GemmKernels make_table() {
  GemmKernels g{.isa = Vec::width == 16  ? Isa::avx512
                       : Vec::width == 8 ? Isa::avx2
                                         : Isa::generic,
                .MR = MR,
                .NR = NR,
                .vector = Vec::width,
                .strict = Strict,
                .epilogue_sums = epilogue_sums};
  fill_tiles<Elements, 1, Strict>(g.one_vector, std::make_integer_sequence<int, MR>());
  fill_tiles<Elements, 2, Strict>(g.two_vectors, std::make_integer_sequence<int, MR>());
  fill_tiles<Elements, 4, Strict>(g.two_panels, std::make_integer_sequence<int, two_panel_rows>());
  const auto two_panel_tiles = std::make_integer_sequence<int, two_panel_rows>();
  if constexpr (Vec::width == 16)
    g.four_panels = tile<Elements, 1, 8, partial_sums(1, Strict), Prefetch::none>;
  fill_tiles<Elements, 4, Strict, Prefetch::for_cache>(g.two_panels_stream[0], two_panel_tiles);
  fill_tiles<Elements, 4, Strict, Prefetch::once>(g.two_panels_stream[1], two_panel_tiles);
  return g;
}
template <class F16, bool Strict>
constexpr F16Tiles f16_tiles() {
  F16Tiles h;
  const auto two_panel_tiles = std::make_integer_sequence<int, two_panel_rows>();
  fill_tiles<F16Panels<F16>, 2, Strict>(h.one, std::make_integer_sequence<int, MR>());
  fill_tiles<F16Panels<F16>, 4, Strict, Prefetch::for_cache>(h.two_panels_stream[0], two_panel_tiles);
  fill_tiles<F16Panels<F16>, 4, Strict, Prefetch::once>(h.two_panels_stream[1], two_panel_tiles);
  return h;
}
template <bool Strict>
constexpr GemmKernels floats_table() {
#if LATHE_BF16
  return {};  // compiled again only for pairs of bfloat16: floats use the tables of AVX-512
#else
  GemmKernels g = make_table<Floats, Strict>();
  g.pack_a = pack_a;
  g.pack_b = pack_b;
  g.f16[0] = f16_tiles<Float16, Strict>();
  g.f16[1] = f16_tiles<BFloat16, Strict>();
  return g;
#endif
}
template <bool Strict>
constexpr GemmKernels make_bf16_dot2_kernels() {
  GemmKernels g = make_table<Bf16Dot2, Strict>();
  g.pack_a = pack_a_bf16_pairs;
  return g;
}
constexpr GemmTables table{{floats_table<false>(), floats_table<true>()},
                           {make_bf16_dot2_kernels<false>(), make_bf16_dot2_kernels<true>()}};
