// The product of matrices as obvious loops, for the references of all operators that contain one.
#pragma once

#include <algorithm>
#include <array>

#include "ops/compute.h"

namespace lathe {

/// A matrix whose element (i, j) is data[i * row + j * column].
template <class T>
struct MatrixView {
  const T* data = nullptr;
  int64_t row = 0, column = 0;
};

inline constexpr int64_t matrix_block = 256;

/// Sums over k of a(i, k) * b(k, j), for `count` columns j from `first` on: each is formed in the order of k.
template <class T, class A>
void multiply_row(const MatrixView<T>& a, const MatrixView<T>& b, int64_t i, int64_t first, int64_t count,
                  int64_t inner, A* sums, KernelContext& c) {
  std::fill_n(sums, count, A{});
  const T* left = a.data + i * a.row;
  if (b.column == 1) {  // along the rows of b
    for (int64_t k = 0; k < inner; ++k) {
      if ((k & 4095) == 4095) c.poll();
      const A factor = static_cast<A>(left[k * a.column]);
      const T* right = b.data + k * b.row + first;
      for (int64_t j = 0; j < count; ++j) sums[j] += factor * static_cast<A>(right[j]);
    }
    return;
  }
  Poller poll(c);
  for (int64_t j = 0; j < count; ++j) {
    const T* right = b.data + (first + j) * b.column;
    A sum{};
    poll.pieces(inner, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        sum += static_cast<A>(left[k * a.column]) * static_cast<A>(right[k * b.row]);
    });
    sums[j] = sum;
  }
}

/// Calls store(i, j, sums, count) for pieces of the rows of the m x n product.
template <class A, class T, class Store>
void multiply(int64_t m, int64_t n, int64_t inner, const MatrixView<T>& a, const MatrixView<T>& b,
              KernelContext& c, Store&& store) {
  if (m == 0 || n == 0) return;
  const int64_t blocks = ceil_div(n, matrix_block);
  c.parallel(m * blocks, 1, [&](int64_t begin, int64_t end) {
    std::array<A, matrix_block> sums;
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / blocks, first = piece % blocks * matrix_block;
      const int64_t count = std::min(matrix_block, n - first);
      c.poll();
      multiply_row(a, b, i, first, count, inner, sums.data(), c);
      store(i, first, sums.data(), count);
    }
  });
}

/// NumPy's matmul of shapes that the rule accepted: calls each(a offset, b offset, y offset) in elements for
/// every matrix of the batch.
struct MatMulSizes {
  int64_t m = 1, n = 1, inner = 1;
  Shape batch;                 // of the result
  Shape a_strides, b_strides;  // in matrices, 0 where broadcast
  MatMulSizes(const Shape& a, const Shape& b) {
    const bool row = a.size() == 1, column = b.size() == 1;
    m = row ? 1 : a[a.size() - 2];
    inner = a.back();
    n = column ? 1 : b.back();
    const size_t ra = row ? 0 : a.size() - 2, rb = column ? 0 : b.size() - 2, rank = std::max(ra, rb);
    batch.assign(rank, 1);
    a_strides.assign(rank, 0);
    b_strides.assign(rank, 0);
    int64_t stride_a = 1, stride_b = 1;
    for (size_t k = 0; k < rank; ++k) {
      const size_t at = rank - 1 - k;
      const int64_t da = k < ra ? a[ra - 1 - k] : 1, db = k < rb ? b[rb - 1 - k] : 1;
      batch[at] = da == 1 ? db : da;
      a_strides[at] = da == 1 ? 0 : stride_a;
      b_strides[at] = db == 1 ? 0 : stride_b;
      stride_a *= da;
      stride_b *= db;
    }
  }
  template <class F>
  void for_each_matrix(F&& each) const {
    const int64_t count = m == 0 || n == 0 ? 0 : count_of(batch);  // there may be any number of empty ones
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, ia = 0, ib = 0;
      for (size_t k = batch.size(); k-- > 0; rest /= batch[k]) {
        ia += rest % batch[k] * a_strides[k];
        ib += rest % batch[k] * b_strides[k];
      }
      each(ia * m * inner, ib * inner * n, i * m * n);
    }
  }
};

}  // namespace lathe
