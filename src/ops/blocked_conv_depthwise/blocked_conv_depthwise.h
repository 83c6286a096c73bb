// lathe.BlockedConvDepthwise: a convolution into channel blocks, a function of every element, and the
// depthwise convolution, or the pool of maxima, that reads nothing else. The builder inserts it; it occurs in
// plans, never in graphs.
//   X as of BlockedConv, W [M, C, kernel…], B [M], depthwise W [M, 1, kernel…] and B [M] → Y [N, M / 16,
//   out…, 16], means of rows as of BlockedConv
#pragma once

#include <cmath>
#include <optional>

#include "kernel/pointwise.h"
#include "ops/blocked_conv/blocked_conv.h"

namespace lathe {

struct BlockedConvDepthwise {
  BlockedConv first, second;
  std::vector<int64_t> pool;  // the windows of a pool, which has no further inputs; none: a convolution
  int64_t activation = -1;    // a UnaryOp; -1: none
  float alpha = 0, beta = 0;
  void fields(auto&& f) {
    f("activation", activation);
    f("alpha", alpha);
    f("beta", beta);
    f("channels", first.channels);
    f("dilations", first.window.dilations);
    f("filters", second.channels);
    f("group", second.group);
    f("pads", first.window.pads);
    f("nchw_input", first.nchw_input);
    f("pool_shape", pool);
    f("second_dilations", second.window.dilations);
    f("second_pads", second.window.pads);
    f("second_strides", second.window.strides);
    f("strides", first.window.strides);
  }

  bool pools() const { return !pool.empty(); }
  /// Returns whether weights of these shapes fit the attributes.
  bool fits(const Shape& w, const Shape& depthwise) const {
    return first.group == 1 && first.fits(w) && second.depthwise() && second.fits(depthwise) &&
           w[0] == second.channels && activation >= -1 && activation < static_cast<int64_t>(UnaryOp::count);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (activation < -1 || activation >= static_cast<int64_t>(UnaryOp::count))
      c.fail(Code::node_bad_attribute, "the number of a function, or -1", std::to_string(activation), {});
    const std::vector<D> between = first.output(c, c.shape(0), 1, 2);
    const std::vector<D> y = pools() ? pooled(c, between) : second.output(c, between, 3, 4);
    if (c.outputs() > 1) c.output(1, BlockedConv::row_means(y));
    c.output(0, y);
  }

  /// Two in one, the second depthwise and of everything that the first one makes; of a pool nothing counts.
  /// It stands in plans only, whose shapes are numbers.
  double operations(const OperandShapes<double>& s) const {
    const auto &x = counting::at(s.inputs, 0), &w = counting::at(s.inputs, 1);
    if (w.size() < 3 || x.size() < w.size()) throw counting::Unknown{};
    const auto number = [](const std::vector<int64_t>& list, size_t i, double otherwise) {
      return i < list.size() ? static_cast<double>(list[i]) : otherwise;
    };
    const Windowing& window = first.window;
    const size_t spatial = w.size() - 2;
    double points = x[0];
    for (size_t i = 0; i < spatial; ++i) {
      const double reach = (w[i + 2] - 1) * number(window.dilations, i, 1) + 1,
                   padded = x[i + 2] + number(window.pads, i, 0) + number(window.pads, spatial + i, 0);
      points *= std::floor((padded - reach) / number(window.strides, i, 1)) + 1;
    }
    return 2 * points * counting::product(w) + (pools() ? 0 : counting::blocked_convolution(s, 3));
  }

 private:
  template <class D>
  std::vector<D> pooled(const ShapeContext<D>& c, std::vector<D> y) const {
    const size_t spatial = y.size() - 3;
    Windowing::check_list(c, "pool_shape", pool, spatial, 1);
    second.window.check(c, spatial);
    c.require(c.outputs() < 2, "no means of rows of a pool", "some");
    for (size_t i = 0; i < spatial; ++i) y[i + 2] = second.window.output_size(c, i, y[i + 2], D(pool[i]));
    return y;
  }
};

}  // namespace lathe
