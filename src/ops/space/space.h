// DepthToSpace and SpaceToDepth: blocks of pixels become channels, and back.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The attributes of both: the block, and whether its pixels or the channels vary faster in the depth.
struct SpaceBlock {
  int64_t blocksize = 0;
  std::string mode =
      "DCR";  // depth outermost varies slowest: pixels of the block first; "CRD": channels first
  void fields(auto&& f) {
    f("blocksize", blocksize);
    f("mode", mode);
  }

 protected:
  template <class D>
  void check(ShapeContext<D>& c) const {
    if (blocksize < 1 || blocksize > INT32_MAX)
      c.fail(Code::node_bad_attribute, "a blocksize of 1 or more", std::to_string(blocksize), {});
    if (mode != "DCR" && mode != "CRD") c.fail(Code::node_bad_attribute, "mode DCR or CRD", mode, {});
    c.require(c.rank(0) == 4, "an input of rank 4", "rank " + std::to_string(c.rank(0)));
  }
  template <class D>
  static D exact(const ShapeContext<D>& c, const D& size, int64_t by, const char* what) {
    const auto n = known(size);
    c.require(!n || *n % by == 0, std::string(what) + " that " + std::to_string(by) + " divides",
              to_text(size));
    return floor_div(size, D(by));
  }
};

struct DepthToSpace : SpaceBlock {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    const auto& in = c.shape(0);
    c.output(0, {in[0], exact(c, in[1], blocksize * blocksize, "channels"), times(in[2], D(blocksize)),
                 times(in[3], D(blocksize))});
  }
};

struct SpaceToDepth : SpaceBlock {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    const auto& in = c.shape(0);
    c.output(0, {in[0], times(in[1], D(blocksize * blocksize)), exact(c, in[2], blocksize, "a height"),
                 exact(c, in[3], blocksize, "a width")});
  }
};

}  // namespace lathe
