// Softmax, LogSoftmax, Hardmax along one axis.
#pragma once

#include "ops/elementwise/elementwise.h"

namespace lathe {

struct Softmax {
  int64_t axis = -1;
  void fields(auto&& f) { f("axis", axis); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (c.rank(0) > 0 || (axis != 0 && axis != -1))
      c.axis(axis, c.rank(0));  // a scalar has one axis of size 1
    c.output(0, c.shape(0));
  }
};
struct LogSoftmax : Softmax {};
struct Hardmax : Softmax {};

}  // namespace lathe
