// The micro-kernels of gemm_doubles.h for one instruction set: like those of gemm_body.h with half as many
// lanes. Included by for_each_isa.h only.

#include "cpu/gemm/gemm_rows_body.h"
#include "cpu/simd/doubles_body.h"

constexpr int64_t double_panel = panel_vectors * doubles_width;

/// Adds one row of the panel times an element of each row of A.
template <int Rows>
LATHE_INLINE void add_row(Doubles (&sum)[Rows][panel_vectors], const double* a, const double* b) {
  Doubles row[panel_vectors];
  LATHE_UNROLL
  for (int j = 0; j < panel_vectors; ++j) row[j] = load_doubles(b + j * doubles_width);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Doubles x = set_doubles(a[i * double_block]);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) sum[i][j] = fused(x, row[j], sum[i][j]);
  }
}

template <int Rows>
LATHE_INLINE void store_sums(const DoubleTile& t, const Doubles (&sum)[Rows][panel_vectors]) {
  const bool whole = t.columns == double_panel;
  for (int i = 0; i < Rows; ++i) {
    double* const to = t.c + i * t.c_row;
    double row[double_panel] = {};
    double* const at = whole ? to : row;
    if (!whole && t.adds) std::memcpy(row, to, static_cast<size_t>(t.columns) * sizeof(double));
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) {
      double* const part = at + j * doubles_width;
      store_doubles(part, t.adds ? load_doubles(part) + sum[i][j] : sum[i][j]);
    }
    if (!whole) std::memcpy(to, row, static_cast<size_t>(t.columns) * sizeof(double));
  }
}

template <int Rows>
void double_tile(const DoubleTile& t) {
  Doubles sum[Rows][panel_vectors];
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) sum[i][j] = Doubles{};
  }
  const double *a = t.a, *b = t.b;
  int64_t k = t.k;
  for (; k >= double_block; k -= double_block, a += Rows * double_block) {
    // Four rows in each iteration, as with floats.
    LATHE_ROLLED
    for (int64_t kk = 0; kk < double_block; kk += 4) {
      LATHE_UNROLL
      for (int u = 0; u < 4; ++u, b += t.b_row) add_row<Rows>(sum, a + kk + u, b);
    }
  }
  for (int64_t kk = 0; kk < k; ++kk, b += t.b_row) add_row<Rows>(sum, a + kk, b);
  store_sums<Rows>(t, sum);
}

template <int... Rows>
constexpr DoubleGemmKernels make_table(std::integer_sequence<int, Rows...>) {
  DoubleGemmKernels g{.MR = MR, .NR = double_panel};
  ((g.tile[Rows + 1] = double_tile<Rows + 1>), ...);
  return g;
}
constexpr DoubleGemmKernels table = make_table(std::make_integer_sequence<int, MR>());
