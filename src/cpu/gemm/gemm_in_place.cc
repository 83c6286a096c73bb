#include "cpu/gemm/gemm_in_place.h"

#include <algorithm>
#include <utility>

#include "cpu/ceil_of.h"
#include "cpu/gemm/gemm_pack.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/gemm/gemm_in_place_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {
namespace {

LATHE_SELECT_ISA(InPlaceKernels, in_place_kernels)

/// The number of columns whose sums stay in the first-level cache while B is read.
constexpr int64_t columns_together = 1024;
/// The least columns that make a row of B a stream: fewer are multiplied by panels, whose sums stay in
/// registers.
constexpr int64_t min_columns = 256;
/// The most rows for which dot products take less time than packing B and multiplying it by panels.
constexpr int64_t max_dotted_rows = 48;
/// The most terms of a dot product, which does not poll.
constexpr int64_t max_terms = int64_t{1} << 18;
/// NR of the widest panel of all instruction sets.
constexpr int64_t widest_panel = 32;
/// Another thread is not worth waking for fewer multiplications.
constexpr int64_t min_parallel_work = int64_t{1} << 17;

/// Rewrites a matrix times a column as a row times the transposed matrix.
Products row_by_matrix(const Products& p) {
  Products q = p;
  std::swap(q.m, q.n);
  std::swap(q.a_step, q.b_step);
  std::swap(q.a_matrix, q.b_matrix);
  q.a = {p.b.data, p.b.column, p.b.row};
  q.b = {p.a.data, p.a.column, p.a.row};
  std::swap(q.start.row, q.start.column);
  return q;
}
bool is_column(const Products& p) { return p.n == 1 && p.m > 1 && (p.start.row == 0 || p.start.row == 1); }

bool adds_rows(const Products& p) { return p.m <= max_added_rows && p.n >= min_columns && p.b.column == 1; }
bool makes_dots(const Products& p) {
  return p.m <= max_dotted_rows && p.k <= max_terms && p.b.row == 1 && p.a.column == 1;
}

/// The number of columns that are computed together: a panel for dot products; for added rows as many as
/// possible that still leave work for all threads.
int64_t together(const GemmKernels& g, const Products& p, int threads) {
  if (!adds_rows(p)) return g.NR;
  int64_t columns = columns_together;
  while (threads > 1 && columns > min_columns && p.count() * ceil_of(p.n, columns) < 2 * threads)
    columns /= 2;
  return columns;
}

/// Computes one of the products.
class One {
 public:
  One(const GemmKernels& g, const Products& p, int64_t product, KernelContext& c)
      : g_(g),
        kernels_(in_place_kernels(g.isa)),
        p_(p),
        a_{p.a.data + p.matrix(product, p.a_step) * p.a_matrix, p.a.row, p.a.column},
        b_{p.b.data + p.matrix(product, p.b_step) * p.b_matrix, p.b.row, p.b.column},
        first_(product * p.m * p.n),
        c_(c) {}

  void compute(int64_t column, int64_t columns) const {
    c_.poll();
    adds_rows(p_) ? add_rows(column, columns) : dot(column, columns);
  }

 private:
  void add_rows(int64_t column, int64_t columns) const {
    alignas(64) float sums[max_added_rows * columns_together];
    std::fill_n(sums, p_.m * g_.panels(columns) * g_.NR, 0.0f);
    pack_pieces(p_.k, columns, c_, [&](int64_t k0, int64_t k) {
      kernels_.add_rows[p_.m]({.a = {a_.data + k0 * a_.column, a_.row, a_.column},
                               .b = {b_.data + k0 * b_.row + column, b_.row, 1},
                               .rows = p_.m,
                               .k = k,
                               .columns = columns,
                               .sums = sums});
    });
    apply_epilogue(sums, column, columns);
  }
  void dot(int64_t column, int64_t columns) const {
    alignas(64) float sums[max_dotted_rows * widest_panel];
    kernels_.dots({.a = a_,
                   .b = {b_.data + column * b_.column, 1, b_.column},
                   .rows = p_.m,
                   .k = p_.k,
                   .columns = columns,
                   .sums = sums});
    apply_epilogue(sums, column, columns);
  }
  void apply_epilogue(float* sums, int64_t first, int64_t columns) const {
    const int64_t size = p_.m * g_.NR;
    if (p_.alpha != 1)
      for (int64_t i = 0; i < size * g_.panels(columns); ++i) sums[i] *= p_.alpha;
    const FusedBiasActivation last(p_.epilogue, p_.n);
    for (int64_t column = first; column < first + columns; column += g_.NR, sums += size) {
      Tile tile{.c = p_.c + first_ + column,
                .c_row = p_.n,
                .rows = p_.m,
                .columns = std::min(g_.NR, p_.n - column),
                .start = p_.start,
                .added = last.added_from(column),
                .bounds = last.bounds};
      if (tile.start.data) tile.start.data += column * tile.start.column;
      g_.epilogue_sums(tile, sums);
    }
    if (last.epilogue) last.epilogue->apply_rows(first_ + first, columns, p_.m, p_.n);
  }

  const GemmKernels& g_;
  const InPlaceKernels& kernels_;
  const Products& p_;
  const Operand a_, b_;
  const int64_t first_;  // the first element of this product, counted over all
  KernelContext& c_;
};

}  // namespace

bool multiplies_in_place(const GemmKernels& g, const Products& p) {
  if (p.packed_b || p.panels || g.strict) return false;
  if (is_column(p)) return multiplies_in_place(g, row_by_matrix(p));
  return adds_rows(p) || makes_dots(p);
}

void multiply_in_place(const GemmKernels& g, const Products& p, KernelContext& c) {
  if (is_column(p)) return multiply_in_place(g, row_by_matrix(p), c);
  const int64_t columns = together(g, p, c.threads()), across = ceil_of(p.n, columns);
  const int64_t work = p.m * columns * std::max<int64_t>(1, p.k);
  c.parallel(p.count() * across, std::max<int64_t>(1, min_parallel_work / work),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t column = i % across * columns;
                 One(g, p, i / across, c).compute(column, std::min(columns, p.n - column));
               }
             });
}

}  // namespace lathe::cpu
