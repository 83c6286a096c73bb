// AffineGrid: where an affine map takes each pixel of an image, in coordinates from -1 to 1.
//   theta [N, 2, 3], size [N, C, H, W] → grid [N, H, W, 2] (x, y); or theta [N, 3, 4], size [N, C, D, H, W] →
//   grid [N, D, H, W, 3] (x, y, z)
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct AffineGrid {
  bool align_corners = false;  // -1 and 1 are the centers of the outermost pixels, else their outer edges
  void fields(auto&& f) { f("align_corners", align_corners); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& theta = c.shape(0);
    c.require(theta.size() == 3 && c.rank(1) == 1, "theta of rank 3 and size of rank 1",
              c.text(theta) + " and " + c.text(c.shape(1)));
    const auto rows = known(theta[1]);
    if (!rows) return;
    c.require(*rows == 2 || *rows == 3, "theta [N, 2, 3] or [N, 3, 4]", c.text(theta));
    c.same(theta[2], D(*rows + 1), "the columns of theta and its rows and 1");
    c.same(c.shape(1)[0], D(*rows + 2), "the sizes and the axes of an image");
    std::vector<D> grid{theta[0]};
    const auto* size = c.values(1);
    if (size) c.same((*size)[0], theta[0], "the batches of theta and size");
    for (size_t i = 0; i < static_cast<size_t>(*rows); ++i) {
      const auto d = size ? std::optional<D>((*size)[i + 2]) : c.data_dependent();
      if (!d) return;
      const auto n = known(*d);
      c.require(!n || *n >= 0, "sizes of 0 or more", to_text(*d));
      grid.push_back(*d);
    }
    grid.push_back(D(*rows));
    c.output(0, std::move(grid));
  }
};

}  // namespace lathe
