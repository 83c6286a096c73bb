// lathe.Bf16MatMul: a product with constant weights in bfloat16. The builder inserts it if that is requested;
// it occurs in plans, never in graphs.
//   X [rows…, k] float32, W [k, n] (or [n, k]) bfloat16 and constant, B? [n] float32 → Y [rows…, n] float32
// X is rounded to bfloat16, the sums are in float32. k is even.
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Bf16MatMul {
  bool trans_b = false;
  void fields(auto&& f) { f("transB", trans_b); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    const auto& w = c.shape(1);
    c.require(!x.empty(), "X of rank 1 or more", c.text(x));
    c.require(w.size() == 2, "a matrix W", c.text(w));
    c.same(x.back(), w[trans_b ? 1 : 0], "the last axis of X and the inner size of W");
    const D n = w[trans_b ? 0 : 1];
    if (c.has(2)) {
      c.require(c.rank(2) == 1, "a bias of rank 1", c.text(c.shape(2)));
      c.same(c.shape(2)[0], n, "the sizes of the bias and of Y's rows");
    }
    std::vector<D> y = x;
    y.back() = n;
    c.output(0, std::move(y));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }
};

}  // namespace lathe
