#include "cpu/rows.h"

#include <algorithm>

#include "cpu/elementwise.h"
#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/rows_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(RowKernels, row_kernels)

namespace {

/// Elements of a row that are taken between polls; long rows are joined from such pieces.
constexpr int64_t longest_row = int64_t{1} << 18;

float joined(ReduceOp op, float a, float b) {
  if (op == ReduceOp::maximum) return a < b || b != b ? b : a;
  if (op == ReduceOp::minimum) return b < a || b != b ? b : a;
  return a + b;
}

/// Calls f(i) for `count` rows or column groups of `size` elements each.
template <class F>
void for_each_piece(int64_t count, int64_t size, KernelContext& c, F&& f) {
  const int64_t grain = std::max<int64_t>(1, elements_a_piece / std::max<int64_t>(1, size));
  c.parallel(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      f(i);
    }
  });
}

}  // namespace

void softmax(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, bool logarithm,
             KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  if (n == 0) return;
  if (inner == 1)
    return for_each_piece(outer, n, c, [&](int64_t i) { k.softmax(x + i * n, y + i * n, n, logarithm); });
  const int64_t groups = (inner + k.vector - 1) / k.vector;
  for_each_piece(outer * groups, n * k.vector, c, [&](int64_t i) {
    const int64_t column = i % groups * k.vector, at = i / groups * n * inner + column;
    k.softmax_columns(x + at, y + at, n, inner, std::min(k.vector, inner - column), logarithm);
  });
}

void reduce(Isa isa, ReduceOp op, const float* x, float* y, int64_t outer, int64_t n, int64_t inner,
            float factor, KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  if (inner == 1) {
    const auto row = k.reduce[static_cast<size_t>(op)];
    return for_each_piece(outer, n, c, [&](int64_t i) {
      float sum = row(x + i * n, std::min(n, longest_row));
      for (int64_t j = longest_row; j < n; j += longest_row) {
        c.poll();
        sum = joined(op, sum, row(x + i * n + j, std::min(n - j, longest_row)));
      }
      y[i] = sum * factor;
    });
  }
  const auto columns = k.reduce_columns[static_cast<size_t>(op)];
  const int64_t groups = (inner + k.vector - 1) / k.vector;
  for_each_piece(outer * groups, n * k.vector, c, [&](int64_t i) {
    const int64_t column = i % groups * k.vector, width = std::min(k.vector, inner - column);
    float* const to = y + i / groups * inner + column;
    columns(x + i / groups * n * inner + column, to, n, inner, width);
    for (int64_t j = 0; j < width; ++j) to[j] *= factor;
  });
}

void normalize(Isa isa, const RowNormalization& r, KernelContext& c) {
  const RowKernels& k = row_kernels(isa);
  for_each_piece(r.rows, r.n, c, [&](int64_t i) {
    const int64_t at = r.channels ? i % r.channels : 0;
    k.normalize({.x = r.x + i * r.n,
                 .y = r.y + i * r.n,
                 .n = r.n,
                 .scale = r.scale ? r.scale + at : nullptr,
                 .bias = r.bias ? r.bias + at : nullptr,
                 .single = r.channels > 0,
                 .center = r.center,
                 .epsilon = r.epsilon,
                 .mean = r.mean ? r.mean + i : nullptr,
                 .inverse = r.inverse ? r.inverse + i : nullptr});
  });
}

}  // namespace lathe::cpu
