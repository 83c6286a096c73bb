// GridSample: samples a 1-, 2- or 3-D image at coordinates that a tensor gives, -1 to 1 across the image.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct GridSample {
  bool align_corners = false;
  std::string mode = "linear", padding_mode = "zeros";
  void fields(auto&& f) {
    f("align_corners", align_corners);
    f("mode", mode);
    f("padding_mode", padding_mode);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (mode != "linear" && mode != "nearest" && mode != "cubic")
      c.fail(Code::node_bad_attribute, "mode linear, nearest or cubic", mode, {});
    if (mode != "nearest" && c.type(0) == DataType::string)
      c.fail(Code::node_bad_type, "numbers where mode is " + mode, "strings", "choose mode nearest");
    if (padding_mode != "zeros" && padding_mode != "border" && padding_mode != "reflection")
      c.fail(Code::node_bad_attribute, "padding_mode zeros, border or reflection", padding_mode, {});
    const auto &image = c.shape(0), &grid = c.shape(1);
    c.require(c.rank(0) >= 3 && c.rank(0) <= 5, "an image of rank 3, 4 or 5",
              "rank " + std::to_string(c.rank(0)));
    c.require(c.rank(1) == c.rank(0), "a grid of rank " + std::to_string(c.rank(0)),
              "rank " + std::to_string(c.rank(1)));
    c.same(grid.back(), D(c.rank(0) - 2), "the grid's last axis and the number of image axes");
    std::vector<D> out{c.same(image[0], grid[0], "the batch of image and grid"), image[1]};
    out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
    c.output(0, std::move(out));
  }
};

}  // namespace lathe
