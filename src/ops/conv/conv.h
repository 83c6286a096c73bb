// Conv: cross-correlation over any number of spatial axes, with groups.
//   X [N, C, in…], W [M, C / group, kernel…], B [M] → Y [N, M, out…]
#pragma once

#include "ops/window.h"
#include "tensor/arithmetic.h"

namespace lathe {

namespace counting {

/// Every output element sums over one filter [M, C/group, k…], which is input `weights`.
template <class D>
D convolution(const OperandShapes<D>& s, size_t weights) {
  return D(2) * output_elements(s) * product(at(s.inputs, weights), 1);
}

}  // namespace counting

struct Conv {
  Windowing window;
  std::vector<int64_t> kernel_shape;  // empty: as W's
  int64_t group = 1;
  void fields(auto&& f) {
    f("auto_pad", window.auto_pad);
    f("dilations", window.dilations);
    f("group", group);
    f("kernel_shape", kernel_shape);
    f("pads", window.pads);
    f("strides", window.strides);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, convolved(c, 0, 1, 2));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::convolution(s, 1);
  }

  /// The spatial axes for shapes that the rule accepted.
  WindowAxes axes(const Shape& x, const Shape& w, const Shape& y) const {
    WindowAxes a;
    for (size_t i = 2; i < x.size(); ++i) a.push_back(window.axis(i - 2, x[i], w[i], y[i]));
    return a;
  }

  /// Shape of the convolution of input `x` with input `w`, and a bias at `b`.
  template <class D>
  std::vector<D> convolved(const ShapeContext<D>& c, size_t x, size_t w, size_t b) const {
    const auto& data = c.shape(x);
    const auto& weights = c.shape(w);
    c.require(data.size() >= 3, "X of rank 3 or more: [N, C, spatial axes]", c.text(data));
    c.require(weights.size() == data.size(), "W of the rank of X", c.text(weights) + " for " + c.text(data));
    if (group < 1 || group > INT32_MAX)
      c.fail(Code::node_bad_attribute, "group of at least 1", std::to_string(group), {});
    const size_t spatial = data.size() - 2;
    window.check(c, spatial);
    check_kernel(c, weights);
    c.same(data[1], times(weights[1], D(group)), "the channels of X and group times those of W");
    const auto channels = known(weights[0]);
    c.require(!channels || *channels % group == 0,
              "output channels divisible by group " + std::to_string(group), to_text(weights[0]));
    if (c.has(b)) {
      c.require(c.rank(b) == 1, "a bias of rank 1", c.text(c.shape(b)));
      c.same(c.shape(b)[0], weights[0], "the size of the bias and the output channels");
    }
    std::vector<D> y{data[0], weights[0]};
    for (size_t i = 0; i < spatial; ++i)
      y.push_back(window.output_size(c, i, data[i + 2], kernel_size(weights, i)));
    return y;
  }

 private:
  template <class D>
  void check_kernel(const ShapeContext<D>& c, const std::vector<D>& weights) const {
    Windowing::check_list(c, "kernel_shape", kernel_shape, weights.size() - 2, 1);
    for (size_t i = 0; i < kernel_shape.size(); ++i)
      c.same(weights[i + 2], D(kernel_shape[i]), "kernel_shape and the kernel of W");
  }
  template <class D>
  D kernel_size(const std::vector<D>& weights, size_t i) const {
    return kernel_shape.empty() ? weights[i + 2] : D(kernel_shape[i]);
  }
};

}  // namespace lathe
