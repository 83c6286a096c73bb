// lathe.BlockedDepthToSpace: DepthToSpace of images in channel blocks, [N, C / 16, H, W, 16], whose blocks of
// pixels hold whole blocks of channels (mode DCR). The builder inserts it; it occurs in plans, never in
// graphs.
#pragma once

#include "ops/block/block.h"

namespace lathe {

struct BlockedDepthToSpace {
  int64_t blocksize = 0;
  void fields(auto&& f) { f("blocksize", blocksize); }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    c.require(y.size() == 5, "X of rank 5: [N, C / 16, H, W, 16]", c.text(y));
    constexpr int64_t most = 1 << 15;  // its square is a number of blocks
    if (blocksize < 1 || blocksize > most)
      c.fail(Code::node_bad_attribute, "a blocksize in [1, 32768]", std::to_string(blocksize), {});
    const D pixels(blocksize * blocksize);
    const auto blocks = known(y[1]);
    c.require(!blocks || *blocks % (blocksize * blocksize) == 0,
              "blocks of channels that " + std::to_string(blocksize * blocksize) + " divides", to_text(y[1]));
    y[1] = floor_div(y[1], pixels);
    y[2] = times(y[2], D(blocksize));
    y[3] = times(y[3], D(blocksize));
    c.output(0, std::move(y));
  }
};

}  // namespace lathe
