// MaxRoiPool: the greatest of each bin of regions [batch, x1, y1, x2, y2] of a feature map (Girshick, Fast
// R-CNN, 2015).
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct MaxRoiPool {
  std::vector<int64_t> pooled_shape;
  float spatial_scale = 1;
  void fields(auto&& f) {
    f("pooled_shape", pooled_shape);
    f("spatial_scale", spatial_scale);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (pooled_shape.size() != 2 || pooled_shape[0] < 1 || pooled_shape[1] < 1)
      c.fail(Code::node_bad_attribute, "a pooled_shape of two sizes from 1",
             std::to_string(pooled_shape.size()), {});
    c.require(c.rank(0) == 4, "a feature map of rank 4", c.text(c.shape(0)));
    c.require(c.rank(1) == 2, "rois of rank 2", c.text(c.shape(1)));
    c.same(c.shape(1)[1], D(5), "the numbers of a roi and 5");
    c.output(0, {c.shape(1)[0], c.shape(0)[1], D(pooled_shape[0]), D(pooled_shape[1])});
  }
};

}  // namespace lathe
