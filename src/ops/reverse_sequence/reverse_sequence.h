// ReverseSequence: turns the first so many steps of each sequence in a batch around.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct ReverseSequence {
  int64_t batch_axis = 1, time_axis = 0;
  void fields(auto&& f) {
    f("batch_axis", batch_axis);
    f("time_axis", time_axis);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) >= 2, "an input of rank 2 or more", "rank " + std::to_string(c.rank(0)));
    if ((batch_axis != 0 && batch_axis != 1) || time_axis != 1 - batch_axis)
      c.fail(Code::node_bad_attribute, "batch_axis and time_axis to be 0 and 1, or 1 and 0",
             std::to_string(batch_axis) + " and " + std::to_string(time_axis), {});
    c.require(c.rank(1) == 1, "sequence_lens of rank 1", "rank " + std::to_string(c.rank(1)));
    c.same(c.shape(1)[0], c.shape(0)[static_cast<size_t>(batch_axis)],
           "the batch and the number of sequence_lens");
    c.output(0, c.shape(0));
  }
};

}  // namespace lathe
