// RoiAlign: pools regions of a feature map to one size, sampling between the pixels.
#pragma once

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct RoiAlign {
  std::string coordinate_transformation_mode = "half_pixel", mode = "avg";
  int64_t output_height = 1, output_width = 1;
  int64_t sampling_ratio = 0;  // samples along each side of a bin; 0: as many as it has pixels
  float spatial_scale = 1;
  void fields(auto&& f) {
    f("coordinate_transformation_mode", coordinate_transformation_mode);
    f("mode", mode);
    f("output_height", output_height);
    f("output_width", output_width);
    f("sampling_ratio", sampling_ratio);
    f("spatial_scale", spatial_scale);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto bad = [&](const char* expected, std::string got) {
      c.fail(Code::node_bad_attribute, expected, std::move(got), {});
    };
    if (mode != "avg" && mode != "max") bad("mode avg or max", mode);
    if (coordinate_transformation_mode != "half_pixel" &&
        coordinate_transformation_mode != "output_half_pixel")
      bad("coordinate_transformation_mode half_pixel or output_half_pixel", coordinate_transformation_mode);
    if (output_height < 1) bad("an output_height from 1", std::to_string(output_height));
    if (output_width < 1) bad("an output_width from 1", std::to_string(output_width));
    if (sampling_ratio < 0) bad("a sampling_ratio from 0", std::to_string(sampling_ratio));
    c.require(c.rank(0) == 4, "a feature map of rank 4", "rank " + std::to_string(c.rank(0)));
    c.require(c.rank(1) == 2, "rois of rank 2", "rank " + std::to_string(c.rank(1)));
    c.require(c.rank(2) == 1, "batch_indices of rank 1", "rank " + std::to_string(c.rank(2)));
    c.same(c.shape(1)[1], D(4), "the numbers of a roi and 4");
    const D count = c.same(c.shape(1)[0], c.shape(2)[0], "the number of rois and of batch_indices");
    c.output(0, {count, c.shape(0)[1], D(output_height), D(output_width)});
  }
};

}  // namespace lathe
