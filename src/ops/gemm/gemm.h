// Gemm: Y = alpha * A' * B' + beta * C, where A' is A or its transpose; C broadcasts to Y.
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Gemm {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  void fields(auto&& f) {
    f("alpha", alpha);
    f("beta", beta);
    f("transA", trans_a);
    f("transB", trans_b);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i : {0, 1})
      c.require(c.rank(i) == 2, "a matrix", c.text(c.shape(i)), "MatMul multiplies tensors of other ranks");
    const auto& a = c.shape(0);
    const auto& b = c.shape(1);
    c.same(a[trans_a ? 0 : 1], b[trans_b ? 1 : 0], "the inner sizes of A and B");
    const std::vector<D> y{a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
    if (c.has(2)) {
      const auto& bias = c.shape(2);
      bool fits = bias.size() <= 2;
      for (size_t i = 0; fits && i < bias.size(); ++i) {
        const auto have = known(bias[bias.size() - 1 - i]), want = known(y[1 - i]);
        fits = !have || *have == 1 || !want || *have == *want;
      }
      c.require(fits, "C that broadcasts to " + c.text(y), c.text(bias));
    }
    c.output(0, y);
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    const auto& a = counting::at(s.inputs, 0);
    if (a.size() != 2) throw counting::Unknown{};
    return D(2) * counting::output_elements(s) * a[trans_a ? 0 : 1];
  }
};

}  // namespace lathe
