// lathe.Pointwise: several elementwise operators as one program. The builder makes it; it occurs in plans,
// never in graphs.
#pragma once

#include "kernel/pointwise.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct PointwiseOp {
  std::vector<int64_t> code;
  std::vector<float> constants;
  void fields(auto&& f) {
    f("code", code);
    f("constants", constants);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> out = c.shape(0);
    for (size_t i = 1; i < c.inputs(); ++i) out = c.broadcast_pair(out, c.shape(i));
    c.output(0, out);
  }
};

}  // namespace lathe
