// ArgMax and ArgMin along one axis.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct ArgReduce {
  int64_t axis = 0;
  bool keepdims = true;
  bool select_last_index = false;
  void fields(auto&& f) {
    f("axis", axis);
    f("keepdims", keepdims);
    f("select_last_index", select_last_index);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    if (out.empty() && (axis == 0 || axis == -1))
      return c.output(0, out);  // a scalar has one element to choose
    const auto a = c.axis(axis, c.rank(0));
    const auto n = known(out[static_cast<size_t>(a)]);
    c.require(!n || *n > 0, "axis " + std::to_string(a) + " to have elements", c.text(out));
    if (keepdims)
      out[static_cast<size_t>(a)] = D(1);
    else
      out.erase(out.begin() + a);
    c.output(0, std::move(out));
  }
};
struct ArgMax : ArgReduce {};
struct ArgMin : ArgReduce {};

}  // namespace lathe
