// lathe.BlockedGroupNormalization: GroupNormalization of images in channel blocks, [N, C / 16, in…, 16], and
// InstanceNormalization, whose groups are single channels. The builder inserts it; it occurs in plans, never
// in graphs.
#pragma once

#include "ops/block/block.h"

namespace lathe {

/// Scale and bias [C].
struct BlockedGroupNormalization {
  float epsilon = 1e-5f;
  int64_t num_groups = 1, channels = 0;
  void fields(auto&& f) {
    f("epsilon", epsilon);
    f("num_groups", num_groups);
    f("channels", channels);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const std::vector<D>& x = c.shape(0);
    require_blocked(c, x);
    if (channels < 1 || channels > INT32_MAX)
      c.fail(Code::node_bad_attribute, "channels in [1, 2147483647]", std::to_string(channels), {});
    c.same(x[1], D((channels + block_lanes - 1) / block_lanes), "the blocks of X and of its channels");
    if (num_groups < 1 || num_groups > channels || channels % num_groups != 0)
      c.fail(Code::node_bad_attribute, "num_groups that divides " + std::to_string(channels),
             std::to_string(num_groups), {});
    for (size_t i : {1, 2}) {
      const auto& s = c.shape(i);
      c.require(s.size() == 1, "one element for each channel", c.text(s));
      c.same(s[0], D(channels), "the elements and the channels of X");
    }
    c.output(0, x);
  }
};

}  // namespace lathe
