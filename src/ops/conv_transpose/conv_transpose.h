// ConvTranspose: the transposed linear map of Conv. Each element of X adds its multiple of the kernel to Y.
//   X [N, C, in…], W [C, M / group, kernel…], B [M] → Y [N, M, out…]
#pragma once

#include <algorithm>
#include <optional>

#include "ops/window.h"
#include "tensor/arithmetic.h"

namespace lathe {

struct ConvTranspose {
  Windowing window;
  std::vector<int64_t> kernel_shape, output_padding, output_shape;
  int64_t group = 1;
  void fields(auto&& f) {
    f("auto_pad", window.auto_pad);
    f("dilations", window.dilations);
    f("group", group);
    f("kernel_shape", kernel_shape);
    f("output_padding", output_padding);
    f("output_shape", output_shape);
    f("pads", window.pads);
    f("strides", window.strides);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    const auto& w = c.shape(1);
    c.require(x.size() >= 3, "X of rank 3 or more: [N, C, spatial axes]", c.text(x));
    c.require(w.size() == x.size(), "W of the rank of X", c.text(w) + " for " + c.text(x));
    if (group < 1 || group > INT32_MAX)
      c.fail(Code::node_bad_attribute, "group of at least 1", std::to_string(group), {});
    const size_t spatial = x.size() - 2;
    window.check(c, spatial);
    Windowing::check_list(c, "kernel_shape", kernel_shape, spatial, 1);
    Windowing::check_list(c, "output_padding", output_padding, spatial, 0);
    // Some exporters write N and C too.
    Windowing::check_list(c, "output_shape", output_shape,
                          output_shape.size() == x.size() ? x.size() : spatial, 0);
    c.same(x[1], w[0], "the channels of X and of W");
    const auto channels = known(x[1]);
    c.require(!channels || *channels % group == 0, "channels divisible by group " + std::to_string(group),
              to_text(x[1]));
    const D filters = times(w[1], D(group));
    if (c.has(2)) {
      c.require(c.rank(2) == 1, "a bias of rank 1", c.text(c.shape(2)));
      c.same(c.shape(2)[0], filters, "the size of the bias and the output channels");
    }
    std::vector<D> y{x[0], filters};
    for (size_t i = 0; i < spatial; ++i) {
      if (!kernel_shape.empty()) c.same(w[i + 2], D(kernel_shape[i]), "kernel_shape and the kernel of W");
      y.push_back(output_size(c, i, x[i + 2], kernel_shape.empty() ? w[i + 2] : D(kernel_shape[i])));
    }
    c.output(0, std::move(y));
  }

  /// Every input element meets one filter [C, M/group, k…].
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return D(2) * counting::product(counting::at(s.inputs, 0)) *
           counting::product(counting::at(s.inputs, 1), 1);
  }

  /// The spatial axes of the convolution from Y to X that this one transposes, for shapes that the rule
  /// accepted.
  WindowAxes axes(const Shape& x, const Shape& w, const Shape& y) const {
    WindowAxes all;
    for (size_t i = 0; i + 2 < x.size(); ++i) {
      WindowAxis a{y[i + 2], x[i + 2], w[i + 2], window.stride(i), window.dilation(i), 0, 0};
      if (window.same() || !output_shape.empty()) {
        const int64_t natural = (a.out - 1) * a.stride + padding(i) + window.reach(i, a.kernel);
        const int64_t total = std::max<int64_t>(0, natural - a.in);
        a.pad_begin = window.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        a.pad_end = total - a.pad_begin;
      } else if (window.explicit_pads()) {
        a.pad_begin = window.pad_begin(i);
        a.pad_end = window.pad_end(i);
      }
      all.push_back(a);
    }
    return all;
  }

  /// The size of both axes of a window that is as long as its strides, 2 or more: every pixel of Y is made
  /// from one of X. Nothing if windows overlap or leave gaps.
  std::optional<int64_t> side_by_side(const Shape& w) const {
    const auto are_all = [](const std::vector<int64_t>& values, int64_t wanted) {
      return std::ranges::all_of(values, [&](int64_t v) { return v == wanted; });
    };
    if (w.size() != 4) return std::nullopt;
    const int64_t size = w[2];
    const bool square = w[3] == size && window.strides.size() == 2 && are_all(window.strides, size);
    if (size < 2 || !square || group != 1 || !output_shape.empty() || !are_all(output_padding, 0) ||
        !are_all(window.dilations, 1))
      return std::nullopt;
    const bool unpadded = window.explicit_pads() ? are_all(window.pads, 0) : window.auto_pad == "VALID";
    return unpadded ? std::optional(size) : std::nullopt;
  }

 private:
  int64_t padding(size_t i) const { return output_padding.empty() ? 0 : output_padding[i]; }

  template <class D>
  D output_size(const ShapeContext<D>& c, size_t i, const D& in, const D& kernel) const {
    if (const auto k = known(kernel); k && (*k < 1 || *k > INT32_MAX))
      c.fail(Code::node_bad_shape, "a kernel size in [1, 2147483647]", std::to_string(*k), {});
    const D stride(window.stride(i));
    const D natural = plus(plus(times(minus(in, D(1)), stride), D(padding(i))), window.reach(i, kernel));
    if (!output_shape.empty()) return D(output_shape[output_shape.size() + 2 - c.shape(0).size() + i]);
    if (window.same()) return times(in, stride);
    const D size =
        window.explicit_pads() ? minus(natural, D(window.pad_begin(i) + window.pad_end(i))) : natural;
    const auto n = known(size);
    c.require(!n || *n >= 0, "pads that leave an output of 0 or more elements", to_text(size));
    return size;
  }
};

}  // namespace lathe
