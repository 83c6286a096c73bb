// lathe.BlockedMaxPool, BlockedAveragePool and BlockedGlobalAveragePool: pooling of images in channel blocks,
// [N, C / 16, in…, 16]. The builder inserts them; they occur in plans, never in graphs. Their pads are
// explicit.
#pragma once

#include "ops/block/block.h"
#include "ops/pool/pool.h"

namespace lathe {

/// The attributes and shape rule of the two pools with windows.
struct BlockedPooling : Pooling {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    const size_t spatial = y.size() - 3;
    if (kernel_shape.empty()) c.fail(Code::node_bad_attribute, "attribute kernel_shape", "none", {});
    Windowing::check_list(c, "kernel_shape", kernel_shape, spatial, 1);
    window.check(c, spatial);
    for (size_t i = 0; i < spatial; ++i) y[i + 2] = window.output_size(c, i, y[i + 2], D(kernel_shape[i]));
    c.output(0, std::move(y));
  }
};

struct BlockedMaxPool : BlockedPooling {};

struct BlockedAveragePool : BlockedPooling {
  bool count_include_pad = false;
  void fields(auto&& f) {
    Pooling::fields(f);
    f("count_include_pad", count_include_pad);
  }
};

struct BlockedGlobalPool {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    std::fill(y.begin() + 2, y.end() - 1, D(1));
    c.output(0, std::move(y));
  }
};

}  // namespace lathe
