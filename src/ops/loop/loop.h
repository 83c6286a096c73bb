// Loop: a body run many times, with states that it passes on and outputs that are stacked.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Inputs: trip count?, condition?, N states. Body: (iteration, condition, N states) → (condition, N states,
/// K scan outputs). Outputs: N states, K stacks of scan outputs.
struct Loop {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
