// If: one of two bodies.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Bodies by number: 0 else_branch, 1 then_branch. Neither has inputs.
struct If {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
