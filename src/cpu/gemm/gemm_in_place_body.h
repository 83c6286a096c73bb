// Products with a matrix in place for one instruction set. Included by for_each_isa.h only.

#include "cpu/gemm/gemm_rows_body.h"

/// Multiplies some rows of B; their products are summed before they are added to the sums so far.
template <int Rows, int Depth>
LATHE_INLINE void add_some_rows(const InPlaceTile& t, const float* a, const float* b) {
  float* sums = t.sums;
  for (int64_t j = 0; j < t.columns; j += NR, sums += Rows * NR) {
    const bool whole = t.columns - j >= NR;
    Vec sum[Rows][panel_vectors];
    LATHE_UNROLL
    for (int u = 0; u < Depth; ++u) {
      Vec row[panel_vectors];
      load_row(row, b + u * t.b.row + j, t.columns - j, whole);
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const Vec x = set(a[i * t.a.row + u * t.a.column]);
        LATHE_UNROLL
        for (int v = 0; v < panel_vectors; ++v) sum[i][v] = u == 0 ? x * row[v] : fma(x, row[v], sum[i][v]);
      }
    }
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int v = 0; v < panel_vectors; ++v) {
        float* const to = sums + i * NR + v * Vec::width;
        store(to, load(to) + sum[i][v]);
      }
    }
  }
}

template <int Rows>
void add_rows(const InPlaceTile& t) {
  // The number of streams that a processor prefetches (measured on a Zen 5, one row times 1024 x 1024: with 4
  // and 8 33 us, with 16 46).
  constexpr int together = 8;
  const float *a = t.a.data, *b = t.b.data;
  int64_t k = t.k;
  for (; k >= together; k -= together, a += together * t.a.column, b += together * t.b.row)
    add_some_rows<Rows, together>(t, a, b);
  for (; k > 0; --k, a += t.a.column, b += t.b.row) add_some_rows<Rows, 1>(t, a, b);
}

/// Computes the products of `Rows` rows with `Columns` columns, lane by lane, a vector each. If there are
/// fewer, the last ones are repeated.
template <int Rows, int Columns>
LATHE_INLINE void multiply_lanes(const InPlaceTile& t, int64_t row, int64_t column, float (*to)[Vec::width]) {
  const float *a[Rows], *b[Columns];
  Vec sum[Rows][Columns];
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) a[i] = t.a.data + (row + i < t.rows ? row + i : t.rows - 1) * t.a.row;
  LATHE_UNROLL
  for (int j = 0; j < Columns; ++j)
    b[j] = t.b.data + (column + j < t.columns ? column + j : t.columns - 1) * t.b.column;
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Columns; ++j) sum[i][j] = zero();
  }
  for (int64_t k = 0; k < t.k; k += Vec::width) {
    const int64_t left = t.k - k;
    Vec y[Columns];
    LATHE_UNROLL
    for (int j = 0; j < Columns; ++j) y[j] = left < Vec::width ? load_first(b[j] + k, left) : load(b[j] + k);
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Vec x = left < Vec::width ? load_first(a[i] + k, left) : load(a[i] + k);
      LATHE_UNROLL
      for (int j = 0; j < Columns; ++j) sum[i][j] = fma(x, y[j], sum[i][j]);
    }
  }
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < Columns; ++j) store(to[i * (Vec::width / Rows) + j], sum[i][j]);
  }
}

struct Added {
  static LATHE_INLINE Vec join(Vec a, Vec b) { return a + b; }
};

/// Computes dot products of `Rows` rows, a vector of sums at a time: Vec::width / Rows columns of each row.
template <int Rows>
LATHE_INLINE void dots_of_rows(const InPlaceTile& t, int64_t row) {
  constexpr int columns = Vec::width / Rows, together = columns < 4 ? columns : 4;
  for (int64_t j = 0; j < t.columns; j += columns) {
    RowVectors vectors;
    for (int64_t some = 0; some < columns; some += together)
      multiply_lanes<Rows, together>(t, row, j + some, vectors.rows + some);
    float lanes[Vec::width];
    store(lanes, vectors.across<Added>());
    for (int64_t i = 0; i < Rows && row + i < t.rows; ++i)
      std::memcpy(t.sums + (row + i) * NR + j, lanes + i * columns, columns * sizeof(float));
  }
}

/// Computes the dot products of up to a panel of columns.
void dots(const InPlaceTile& t) {
  int64_t row = 0;
  for (; t.rows - row > 2; row += 4) dots_of_rows<4>(t, row);
  if (t.rows - row == 2) dots_of_rows<2>(t, row);
  if (t.rows - row == 1) dots_of_rows<1>(t, row);
}

constexpr InPlaceKernels table{{nullptr, add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>}, dots};
