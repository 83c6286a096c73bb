// SequenceMap: a body run once for every element of sequences.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Inputs: a sequence, then sequences of the same length (taken element by element) and tensors (passed
/// whole).
struct SequenceMap {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
