// lathe.LowBitGather: rows of a constant matrix of whole numbers of 2, 4 or 8 bits, as floats; blocks of
// neighbors in a row have a scale, and perhaps a zero point and a minimum: an element is
// (number - zero point) * scale + minimum. The builder makes it of Gather behind DequantizeLinear, so that an
// embedding is never dequantized whole; it occurs in plans, never in graphs.
//   W [n, k] or [n, blocks, block_size], indices of any shape, scales [n, blocks] or [n, blocks, 1] of
//   float32 or a float of 16 bits, zero points? of W's type, minimums? as scales → Y [indices…, k] float32
// packed: a LowBitMatMul has the transposed matrix as its weights (a tied head). Rows are then taken from
// what is packed for that, so that the matrix is in memory once.
#pragma once

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/low_bit.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct LowBitGather {
  int64_t block_size = 0;
  bool packed = false;
  void fields(auto&& f) {
    f("block_size", block_size);
    f("packed", packed);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (block_size < 1)
      c.fail(Code::node_bad_attribute, "a block_size of 1 or more", std::to_string(block_size), {});
    const auto w = blocks_as_matrix(c.shape(0));
    c.require(w.size() == 2, "a matrix W", c.text(w));
    for (size_t i : {2u, 3u, 4u}) {
      if (!c.has(i)) continue;
      const auto s = blocks_as_matrix(c.shape(i));
      c.require(s.size() == 2, "a matrix of scales, zero points or minimums", c.text(s));
      c.same(s[1], ceil_div(w[1], D(block_size)), "parameters and blocks");
      c.same(s[0], w[0], "parameters and rows");
    }
    std::vector<D> y = c.shape(1);
    y.push_back(w[1]);
    c.output(0, std::move(y));
  }
};

}  // namespace lathe
