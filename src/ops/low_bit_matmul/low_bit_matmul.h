// lathe.LowBitMatMul: a product with constant weights that are whole numbers of 2, 4 or 8 bits, with a scale
// (and perhaps a zero point, and a minimum) for each block of them along the terms of the sums: a weight is
// (number - zero point) * scale + minimum. The builder makes it of MatMul or Gemm behind DequantizeLinear; it
// occurs in plans, never in graphs.
//   X [rows…, k] float32, W [k, n] (or transposed [n, k]), scales [blocks, n] (or [n, blocks]) float32 or
//   floats of 16 bits, zero points? of W's type and the shape of the scales, minimums? as scales
//   → Y [rows…, n] float32
// Blocks have `block_size` terms, the last one the rest: blocks = ceil(k / block_size). Transposed weights
// may also be [n, blocks, block_size], with parameters [n, blocks, 1].
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/low_bit.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct LowBitMatMul {
  int64_t block_size = 0;
  bool transposed = false;
  void fields(auto&& f) {
    f("block_size", block_size);
    f("transposed", transposed);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (block_size < 1)
      c.fail(Code::node_bad_attribute, "a block_size of 1 or more", std::to_string(block_size), {});
    const auto& x = c.shape(0);
    const auto w = matrix(c.shape(1));
    c.require(!x.empty(), "X of rank 1 or more", c.text(x));
    c.require(w.size() == 2, "a matrix W", c.text(w));
    const size_t terms = transposed ? 1 : 0;
    c.same(x.back(), w[terms], "the last axis of X and the inner size of W");
    for (size_t i : {2u, 3u, 4u}) {
      if (!c.has(i)) continue;
      const auto s = matrix(c.shape(i));
      c.require(s.size() == 2, "a matrix of scales, zero points or minimums", c.text(s));
      c.same(s[terms], ceil_div(w[terms], D(block_size)), "parameters and blocks");
      c.same(s[1 - terms], w[1 - terms], "parameters and columns");
    }
    std::vector<D> y = x;
    y.back() = w[1 - terms];
    c.output(0, std::move(y));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::matrix_product(s);
  }

  /// Returns the shape of transposed weights, or of their parameters, whose blocks are an axis of their own,
  /// as a matrix; other shapes stay.
  template <class S>
  S matrix(const S& s) const {
    return transposed ? blocks_as_matrix(s) : s;
  }
};

}  // namespace lathe
