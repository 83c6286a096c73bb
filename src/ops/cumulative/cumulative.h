// CumSum and CumProd along the axis that input 1 names.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace lathe {

struct Cumulative {
  bool exclusive = false;  // an element does not count itself
  bool reverse = false;    // from the end of the axis
  void fields(auto&& f) {
    f("exclusive", exclusive);
    f("reverse", reverse);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto count = known(c.product(c.shape(1)));
    c.require(!count || *count == 1, "one axis", c.text(c.shape(1)));
    if (const auto axis = c.numbers(1); axis && axis->size() == 1) c.axis(axis->at(0), c.rank(0));
    c.output(0, c.shape(0));
  }
};
struct CumSum : Cumulative {};
struct CumProd : Cumulative {};

}  // namespace lathe
