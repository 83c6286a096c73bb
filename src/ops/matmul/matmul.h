// MatMul: NumPy's matmul. The last two axes are multiplied, the others broadcast; a vector on the left is a
// row, on the right a column, and its axis is dropped again.
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The shape of input `a` times input `b`.
template <class D>
std::vector<D> matmul_shape(const ShapeContext<D>& c, size_t a, size_t b) {
  std::vector<D> x = c.shape(a), y = c.shape(b);
  c.require(!x.empty() && !y.empty(), "matrices or vectors", c.text(x) + " and " + c.text(y));
  const bool row = x.size() == 1, column = y.size() == 1;
  if (row) x.insert(x.begin(), D(1));
  if (column) y.push_back(D(1));
  c.same(x[x.size() - 1], y[y.size() - 2], "the last axis of A and the second last of B");
  const D m = x[x.size() - 2], n = y[y.size() - 1];
  x.resize(x.size() - 2);
  y.resize(y.size() - 2);
  std::vector<D> r = c.broadcast_pair(x, y);
  if (!row) r.push_back(m);
  if (!column) r.push_back(n);
  return r;
}

struct MatMul {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, matmul_shape(c, 0, 1));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }
};

}  // namespace lathe
