// Sequences of tensors: made, changed, read, split from a tensor and joined to one. A sequence is never
// changed in place; its elements are shared.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct SequenceConstruct {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct SequenceEmpty {
  int64_t dtype = static_cast<int64_t>(DataType::float32);
  void fields(auto&& f) { f("dtype", dtype); }
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct SequenceInsert {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct SequenceErase {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct SequenceAt {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct SequenceLength {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {});
  }
};
struct SplitToSequence {
  int64_t axis = 0;
  bool keepdims = true;  // of parts of size 1, when no sizes are given
  void fields(auto&& f) {
    f("axis", axis);
    f("keepdims", keepdims);
  }
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct ConcatFromSequence {
  int64_t axis = 0;
  bool new_axis = false;
  void fields(auto&& f) {
    f("axis", axis);
    f("new_axis", new_axis);
  }
  template <class D>
  void shape(ShapeContext<D>&) const {}
};

}  // namespace lathe
