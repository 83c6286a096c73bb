#include "ops/cases.h"

namespace lathe {

void cases_roi_align(CaseTable& t) {
  const auto whole = [&](const char* name) -> OpCase& {
    return t.add("RoiAlign", name)
        .input<float>({1, 1, 2, 2}, {1, 2, 3, 4})
        .input<float>({1, 4}, {0, 0, 2, 2})
        .input<int64_t>({1}, {0});
  };
  // Shifted by half a pixel, the region's bins are the pixels themselves.
  whole("pixels")
      .attribute("output_height", int64_t{2})
      .attribute("output_width", int64_t{2})
      .expect<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  whole("average").expect<float>({1, 1, 1, 1}, {2.5f});
  // Without the shift the four samples are at 0.5 and 1.5: 2.5, 3, 3.5 and 4.
  whole("unshifted")
      .attribute("coordinate_transformation_mode", std::string("output_half_pixel"))
      .expect<float>({1, 1, 1, 1}, {3.25f});
  // For each sample the largest weighted pixel counts: 1, 1.5, 2 and 4.
  whole("max_unshifted")
      .attribute("coordinate_transformation_mode", std::string("output_half_pixel"))
      .attribute("mode", std::string("max"))
      .expect<float>({1, 1, 1, 1}, {4});
  t.add("RoiAlign", "a region that ends far before it begins")
      .input<float>({1, 1, 2, 2}, {1, 2, 3, 4})
      .input<float>({1, 4}, {0, 0, -1e30f, 2})
      .input<int64_t>({1}, {0})
      .expect<float>({1, 1, 1, 1}, {0});
  whole("opset_10").at_opset(10).expect<float>({1, 1, 1, 1}, {3.25f});
}

}  // namespace lathe
