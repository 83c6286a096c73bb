// NonMaxSuppression: the best boxes of each class that do not overlap a better one.
//   boxes [batch, boxes, 4], scores [batch, classes, boxes] → selected [n, 3]: batch, class, box
#pragma once

#include <algorithm>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct NonMaxSuppression {
  bool center_point_box =
      false;  // boxes are [x center, y center, width, height], else two corners [y, x, y, x]
  void fields(auto&& f) { f("center_point_box", center_point_box); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.require(c.rank(0) == 3 && c.rank(1) == 3, "boxes and scores of rank 3",
              c.text(c.shape(0)) + " and " + c.text(c.shape(1)));
    const auto &boxes = c.shape(0), &scores = c.shape(1);
    c.same(boxes[0], scores[0], "the batches of boxes and scores");
    c.same(boxes[1], scores[2], "the boxes and their scores");
    c.same(boxes[2], D(4), "the last axis of boxes and 4");
    for (size_t i : {2, 3, 4}) {
      if (!c.has(i)) continue;
      const auto count = known(c.product(c.shape(i)));
      c.require(!count || *count <= 1, "one number", c.text(c.shape(i)) + " at input " + std::to_string(i));
    }
    if (const auto n = c.data_dependent(scores[0] * scores[1] * most(c, boxes[1]))) c.output(0, {*n, D(3)});
  }

 private:
  /// The most boxes of each class: as many as input 2 requests, none without it.
  template <class D>
  static D most(const ShapeContext<D>& c, const D& boxes) {
    const auto requested = c.has(2) ? c.numbers(2) : std::vector<int64_t>{0};
    if (!requested || requested->empty()) return boxes;
    const auto all = known(boxes);
    return all ? D(std::clamp<int64_t>(requested->front(), 0, std::max<int64_t>(*all, 0))) : boxes;
  }
};

}  // namespace lathe
