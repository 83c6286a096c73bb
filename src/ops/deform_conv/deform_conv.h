// DeformConv: a convolution that reads each element of its kernel's window at an offset of its own,
// interpolated linearly, times a mask of its own.
//   X [N, C, in…], W [M, C / group, kernel…], offset [N, offset_group * kernel elements * axes, out…], B [M],
//   mask [N, offset_group * kernel elements, out…] → Y [N, M, out…]
#pragma once

#include "ops/conv/conv.h"

namespace lathe {

struct DeformConv {
  Conv conv;
  int64_t offset_group = 1;
  void fields(auto&& f) {
    f("dilations", conv.window.dilations);
    f("group", conv.group);
    f("kernel_shape", conv.kernel_shape);
    f("offset_group", offset_group);
    f("pads", conv.window.pads);
    f("strides", conv.window.strides);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = conv.convolved(c, 0, 1, 3);
    const auto& x = c.shape(0);
    c.require(x.size() <= 8, "at most 6 spatial axes", c.text(x));  // 2^axes corners to interpolate between
    if (offset_group < 1 || offset_group > INT32_MAX)
      c.fail(Code::node_bad_attribute, "offset_group of at least 1", std::to_string(offset_group), {});
    const auto channels = known(x[1]);
    c.require(!channels || *channels % offset_group == 0,
              "channels divisible by offset_group " + std::to_string(offset_group), to_text(x[1]));
    D elements(offset_group);
    for (size_t i = 2; i < x.size(); ++i) elements = times(elements, c.shape(1)[i]);
    check_field(c, 2, times(elements, D(static_cast<int64_t>(x.size() - 2))), y, "offset");
    if (c.has(4)) check_field(c, 4, elements, y, "mask");
    c.output(0, std::move(y));
  }

 private:
  template <class D>
  static void check_field(const ShapeContext<D>& c, size_t input, const D& channels, std::vector<D> want,
                          const std::string& what) {
    want[1] = channels;
    const auto& have = c.shape(input);
    c.require(have.size() == want.size(), what + " of shape " + c.text(want), c.text(have));
    for (size_t i = 0; i < want.size(); ++i) c.same(have[i], want[i], "the sizes of the " + what);
  }
};

}  // namespace lathe
