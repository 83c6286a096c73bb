#include "cpu/gemm/gemm_doubles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/ceil_of.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/gemm/gemm_doubles_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(DoubleGemmKernels, double_gemm_kernels)

namespace {

/// KC and NC: C is updated after this many terms, and this many columns of B are packed at once, so that a
/// panel's block stays in the first-level cache and all blocks in the second.
constexpr int64_t doubles_KC = 192, doubles_NC = 512;
/// The number of rows of B in place that are read at once, each as a stream.
constexpr int64_t streamed_rows = 16;
/// Another thread is not worth waking for fewer multiplications.
constexpr int64_t min_parallel_work = int64_t{1} << 16;

/// Returns whether C is one tile high and the rows of B are dense, so that packing B would only double the
/// reads.
bool reads_in_place(const DoubleGemmKernels& g, const Products& p) { return p.m <= g.MR && p.b.column == 1; }

/// Computes one of the products.
class OneProduct {
 public:
  OneProduct(const DoubleGemmKernels& g, const DoubleProducts& p, int64_t i, KernelContext& c)
      : g_(g),
        p_(p.sizes),
        a_(p.a + p_.matrix(i, p_.a_step) * p_.a_matrix),
        b_(p.b + p_.matrix(i, p_.b_step) * p_.b_matrix),
        start_(p.start),
        to_(p.c + i * p_.m * p_.n),
        c_(c) {}

  /// Multiplies a few rows with B in place, a few complete rows of B at a time, since one panel's rows are
  /// pages apart.
  void multiply_in_place() const {
    const int64_t panels = ceil_of(p_.n, g_.NR);
    const int64_t work = p_.m * g_.NR * std::max<int64_t>(1, p_.k);
    share(panels, work, [&](int64_t first, int64_t end) {
      alignas(64) double a[DoubleGemmKernels::max_MR * streamed_rows];
      alignas(64) double edge[DoubleGemmKernels::widest_panel * streamed_rows];
      for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += streamed_rows) {
        const int64_t k = std::min(streamed_rows, p_.k - k0);
        c_.poll();
        pack_a(a, 0, p_.m, k0, k);
        for (int64_t panel = first; panel < end; ++panel) {
          const int64_t column = panel * g_.NR;
          const bool whole = p_.n - column >= g_.NR;
          if (!whole) pack_b(edge, column, k0, k);
          tile(a, whole ? b_ + k0 * p_.b.row + column : edge, whole ? p_.b.row : g_.NR, 0, p_.m, column, k0,
               k);
        }
      }
      const int64_t column = first * g_.NR;
      apply_epilogue(0, p_.m, column, std::min(p_.n, end * g_.NR) - column);
    });
  }

  /// Packs one block of B after the other, and multiplies it with all rows of A.
  void multiply_packed(double* packed) const {
    for (int64_t column = 0; column < p_.n; column += doubles_NC)
      for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += doubles_KC)
        multiply_block(packed, column, std::min(doubles_NC, p_.n - column), k0,
                       std::min(doubles_KC, p_.k - k0));
  }

 private:
  void multiply_block(double* packed, int64_t column, int64_t columns, int64_t k0, int64_t k) const {
    const int64_t panels = ceil_of(columns, g_.NR), size = k * g_.NR;
    share(panels, 4 * size, [&](int64_t begin, int64_t end) {
      c_.poll();
      for (int64_t i = begin; i < end; ++i) pack_b(packed + i * size, column + i * g_.NR, k0, k);
    });
    const RowTiles tiles(p_.m, g_.MR);
    // If there are few tiles, the threads share the panels, too.
    const int64_t across = std::clamp<int64_t>(ceil_of(2 * c_.threads(), tiles.count()), 1, panels),
                  some = ceil_of(panels, c_.threads() == 1 ? 1 : across), pieces = ceil_of(panels, some);
    share(tiles.count() * pieces, g_.MR * some * size, [&](int64_t begin, int64_t end) {
      alignas(64) double a[DoubleGemmKernels::max_MR * doubles_KC];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t t = i / pieces, first = i % pieces * some, last = std::min(panels, first + some);
        const int64_t row = tiles.begin(t), rows = tiles.rows(t);
        c_.poll();
        pack_a(a, row, rows, k0, k);
        for (int64_t panel = first; panel < last; ++panel)
          tile(a, packed + panel * size, g_.NR, row, rows, column + panel * g_.NR, k0, k);
        const int64_t from = column + first * g_.NR;
        if (k0 + k == p_.k)
          apply_epilogue(row, rows, from, std::min(column + columns, column + last * g_.NR) - from);
      }
    });
  }

  /// Calls f(begin, end) for pieces of [0, count), each element of which costs `work` multiplications.
  template <class F>
  void share(int64_t count, int64_t work, F&& f) const {
    const int64_t wanted = c_.threads() == 1 ? 1 : 4 * c_.threads();
    const int64_t least = ceil_of(min_parallel_work, std::max<int64_t>(1, work));
    c_.parallel(count, std::max(least, ceil_of(count, wanted)), f);
  }

  void tile(const double* a, const double* b, int64_t b_row, int64_t row, int64_t rows, int64_t column,
            int64_t k0, int64_t k) const {
    g_.tile[rows]({.a = a,
                   .b = b,
                   .b_row = b_row,
                   .c = to_ + row * p_.n + column,
                   .c_row = p_.n,
                   .k = k,
                   .columns = std::min(g_.NR, p_.n - column),
                   .adds = k0 > 0});
  }

  /// Packs rows of A in blocks; the last block is filled up with zeros.
  void pack_a(double* to, int64_t row, int64_t rows, int64_t k0, int64_t k) const {
    for (int64_t kk = 0; kk < k; kk += double_block)
      for (int64_t i = 0; i < rows; ++i, to += double_block) {
        const double* const from = a_ + (row + i) * p_.a.row + (k0 + kk) * p_.a.column;
        if (p_.a.column == 1 && k - kk >= double_block)
          copy<double_block>(to, from);
        else
          for (int64_t j = 0; j < double_block; ++j) to[j] = kk + j < k ? from[j * p_.a.column] : 0;
      }
  }
  /// Packs one panel of B; missing columns are zeros.
  void pack_b(double* to, int64_t column, int64_t k0, int64_t k) const {
    const int64_t width = g_.NR, columns = std::min(width, p_.n - column);
    const double* const from = b_ + k0 * p_.b.row + column * p_.b.column;
    if (p_.b.column == 1 && columns == width) {
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < width; j += 4) copy<4>(to + i * width + j, from + i * p_.b.row + j);
      return;
    }
    if (columns < width) std::fill_n(to, k * width, 0.0);
    // In squares, so that lines stay in the cache until their other columns are read.
    for (int64_t k1 = 0; k1 < k; k1 += double_block)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = k1; i < std::min(k1 + double_block, k); ++i)
          to[i * width + j] = from[i * p_.b.row + j * p_.b.column];
  }
  template <int64_t n>
  static void copy(double* to, const double* from) {
    std::memcpy(to, from, n * sizeof(double));
  }

  /// Scales complete sums and adds the start of C.
  void apply_epilogue(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (p_.alpha == 1 && !start_) return;
    const double alpha = static_cast<double>(p_.alpha), beta = static_cast<double>(p_.start.scale);
    for (int64_t i = row; i < row + rows; ++i) {
      double* const to = to_ + i * p_.n + column;
      for (int64_t j = 0; j < columns; ++j) to[j] *= alpha;
      if (!start_) continue;
      const double* const from = start_ + i * p_.start.row + column * p_.start.column;
      for (int64_t j = 0; j < columns; ++j) to[j] += beta * from[j * p_.start.column];
    }
  }

  const DoubleGemmKernels& g_;
  const Products& p_;
  const double *const a_, *const b_, *const start_;
  double* const to_;
  KernelContext& c_;
};

}  // namespace

size_t multiply_doubles_workspace(Isa isa, const Products& p) {
  const DoubleGemmKernels& g = double_gemm_kernels(isa);
  if (p.m == 0 || p.n == 0 || p.count() == 0 || reads_in_place(g, p)) return 0;
  const int64_t panels = ceil_of(std::min(p.n, doubles_NC), g.NR);
  return static_cast<size_t>(panels * g.NR * std::min(p.k, doubles_KC)) * sizeof(double);
}

void multiply(Isa isa, const DoubleProducts& p, void* workspace, KernelContext& c) {
  const DoubleGemmKernels& g = double_gemm_kernels(isa);
  if (p.sizes.m == 0 || p.sizes.n == 0) return;
  const bool in_place = reads_in_place(g, p.sizes);
  for (int64_t i = 0; i < p.sizes.count(); ++i) {
    const OneProduct product(g, p, i, c);
    in_place ? product.multiply_in_place() : product.multiply_packed(static_cast<double*>(workspace));
  }
}

}  // namespace lathe::cpu
