// Trilu: the upper or lower triangle of matrices, the rest 0.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct Trilu {
  bool upper = true;
  void fields(auto&& f) { f("upper", upper); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) >= 2, "an input of rank 2 or more", "rank " + std::to_string(c.rank(0)));
    if (c.has(1))
      c.require(known(c.product(c.shape(1))).value_or(1) == 1, "a diagonal k of one element",
                c.text(c.shape(1)));
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
