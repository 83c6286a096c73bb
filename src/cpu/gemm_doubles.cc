#include "cpu/gemm_doubles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/ceil_of.h"
#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/gemm_doubles_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(DoubleGemmKernels, double_gemm_kernels)

namespace {

/// C is updated after so many terms, and so many columns of B are packed at once: a panel's share stays in
/// the first-level cache, all of them in the second.
constexpr int64_t terms_at_once = 192, columns_at_once = 512;
/// Rows of B in place that are read at once, each as a stream of its own.
constexpr int64_t streamed_rows = 16;
/// Multiplications below which another thread is not worth waking.
constexpr int64_t least_work = int64_t{1} << 16;

/// Does every tile of C lie in the same rows, so that packing B would only double what is read?
bool reads_in_place(const DoubleGemmKernels& g, const Products& p) {
  return p.m <= g.max_rows && p.b.column == 1;
}

/// One of the products, with pointers of its own.
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

  /// A few rows, with B where it lies: a few rows of it at a time from end to end, since one panel's rows are
  /// pages apart.
  void multiply_in_place() const {
    const int64_t panels = ceil_of(p_.n, g_.panel_columns);
    const int64_t work = p_.m * g_.panel_columns * std::max<int64_t>(1, p_.k);
    share(panels, work, [&](int64_t first, int64_t end) {
      alignas(64) double a[DoubleGemmKernels::most_rows * streamed_rows];
      alignas(64) double edge[DoubleGemmKernels::widest_panel * streamed_rows];
      for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += streamed_rows) {
        const int64_t k = std::min(streamed_rows, p_.k - k0);
        c_.poll();
        pack_a(a, 0, p_.m, k0, k);
        for (int64_t panel = first; panel < end; ++panel) {
          const int64_t column = panel * g_.panel_columns;
          const bool whole = p_.n - column >= g_.panel_columns;
          if (!whole) pack_b(edge, column, k0, k);
          tile(a, whole ? b_ + k0 * p_.b.row + column : edge, whole ? p_.b.row : g_.panel_columns, 0, p_.m,
               column, k0, k);
        }
      }
      const int64_t column = first * g_.panel_columns;
      finish(0, p_.m, column, std::min(p_.n, end * g_.panel_columns) - column);
    });
  }

  /// Blocks of B, packed one after the other, times all rows of A.
  void multiply_packed(double* packed) const {
    for (int64_t column = 0; column < p_.n; column += columns_at_once)
      for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += terms_at_once)
        multiply_block(packed, column, std::min(columns_at_once, p_.n - column), k0,
                       std::min(terms_at_once, p_.k - k0));
  }

 private:
  void multiply_block(double* packed, int64_t column, int64_t columns, int64_t k0, int64_t k) const {
    const int64_t panels = ceil_of(columns, g_.panel_columns), size = k * g_.panel_columns;
    share(panels, 4 * size, [&](int64_t begin, int64_t end) {
      c_.poll();
      for (int64_t i = begin; i < end; ++i) pack_b(packed + i * size, column + i * g_.panel_columns, k0, k);
    });
    const RowTiles tiles(p_.m, g_.max_rows);
    // Of few tiles the panels are shared out, too.
    const int64_t across = std::clamp<int64_t>(ceil_of(2 * c_.threads(), tiles.count()), 1, panels),
                  some = ceil_of(panels, c_.threads() == 1 ? 1 : across), pieces = ceil_of(panels, some);
    share(tiles.count() * pieces, g_.max_rows * some * size, [&](int64_t begin, int64_t end) {
      alignas(64) double a[DoubleGemmKernels::most_rows * terms_at_once];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t t = i / pieces, first = i % pieces * some, last = std::min(panels, first + some);
        const int64_t row = tiles.begin(t), rows = tiles.rows(t);
        c_.poll();
        pack_a(a, row, rows, k0, k);
        for (int64_t panel = first; panel < last; ++panel)
          tile(a, packed + panel * size, g_.panel_columns, row, rows, column + panel * g_.panel_columns, k0,
               k);
        const int64_t from = column + first * g_.panel_columns;
        if (k0 + k == p_.k)
          finish(row, rows, from, std::min(column + columns, column + last * g_.panel_columns) - from);
      }
    });
  }

  /// Calls f(begin, end) for pieces of so many numbers, each of which is so much work.
  template <class F>
  void share(int64_t count, int64_t work, F&& f) const {
    const int64_t wanted = c_.threads() == 1 ? 1 : 4 * c_.threads();
    const int64_t least = ceil_of(least_work, std::max<int64_t>(1, work));
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
                   .columns = std::min(g_.panel_columns, p_.n - column),
                   .adds = k0 > 0});
  }

  /// Rows of A in blocks; the last one is filled up with zeros.
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
  /// One panel of B; columns that are not there are zeros.
  void pack_b(double* to, int64_t column, int64_t k0, int64_t k) const {
    const int64_t width = g_.panel_columns, columns = std::min(width, p_.n - column);
    const double* const from = b_ + k0 * p_.b.row + column * p_.b.column;
    if (p_.b.column == 1 && columns == width) {
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < width; j += 4) copy<4>(to + i * width + j, from + i * p_.b.row + j);
      return;
    }
    if (columns < width) std::fill_n(to, k * width, 0.0);
    // In squares, so that what is read stays in the cache while its other columns are needed.
    for (int64_t k1 = 0; k1 < k; k1 += double_block)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = k1; i < std::min(k1 + double_block, k); ++i)
          to[i * width + j] = from[i * p_.b.row + j * p_.b.column];
  }
  template <int64_t n>
  static void copy(double* to, const double* from) {
    std::memcpy(to, from, n * sizeof(double));
  }

  /// Sums that are whole, scaled, with what C begins with.
  void finish(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
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
  const int64_t panels = ceil_of(std::min(p.n, columns_at_once), g.panel_columns);
  return static_cast<size_t>(panels * g.panel_columns * std::min(p.k, terms_at_once)) * sizeof(double);
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
