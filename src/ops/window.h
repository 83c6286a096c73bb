// Sliding windows: the arithmetic of strides, dilations and padding that convolution and pooling share,
// written once for symbolic sizes and for numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/attributes.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// One spatial axis with all its numbers known: window `o` covers the input positions
/// start(o) + k * dilation for k in [0, kernel); positions outside [0, in) are padding.
struct WindowAxis {
  int64_t in = 1, out = 1;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;

  int64_t start(int64_t o) const { return o * stride - pad_begin; }
  /// The least k whose position is not before the input.
  int64_t first_inside(int64_t o) const {
    const int64_t s = start(o);
    return s >= 0 ? 0 : std::min(kernel, ceil_div(-s, dilation));
  }
  /// One more than the greatest k whose position is not past the input: [first_inside, end_inside) reads it.
  int64_t end_inside(int64_t o) const { return end_before(in, o); }
  /// The number of k on the input or its padding; less than `kernel` only in ceil mode.
  int64_t count_padded(int64_t o) const { return end_before(in + pad_end, o); }

 private:
  int64_t end_before(int64_t limit, int64_t o) const {
    const int64_t space = limit - start(o);
    return space <= 0 ? 0 : std::min(kernel, ceil_div(space, dilation));
  }
};

/// The attributes. Empty vectors mean the defaults.
struct Windowing {
  std::string auto_pad = "NOTSET";
  std::vector<int64_t> pads, strides, dilations;
  bool ceil_mode = false;

  int64_t stride(size_t axis) const { return strides.empty() ? 1 : strides[axis]; }
  int64_t dilation(size_t axis) const { return dilations.empty() ? 1 : dilations[axis]; }
  /// The attribute; only valid without automatic padding.
  int64_t pad_begin(size_t axis) const { return pads.empty() ? 0 : pads[axis]; }
  int64_t pad_end(size_t axis) const { return pads.empty() ? 0 : pads[pads.size() / 2 + axis]; }
  bool same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
  bool explicit_pads() const { return auto_pad.empty() || auto_pad == "NOTSET"; }

  /// Returns whether the lists have as many numbers as `axes` spatial axes need.
  bool counts_fit(size_t axes) const {
    const auto fits = [](const std::vector<int64_t>& list, size_t n) {
      return list.empty() || list.size() == n;
    };
    return fits(strides, axes) && fits(dilations, axes) && fits(pads, 2 * axes);
  }

  /// Checks counts and signs for `axes` spatial axes; every size is within 31 bits, so that positions never
  /// overflow.
  template <class D>
  void check(const ShapeContext<D>& c, size_t axes) const {
    if (!same() && !explicit_pads() && auto_pad != "VALID")
      c.fail(Code::node_bad_attribute, "auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID", auto_pad, {});
    check_list(c, "strides", strides, axes, 1);
    check_list(c, "dilations", dilations, axes, 1);
    if (explicit_pads()) check_list(c, "pads", pads, 2 * axes, 0);
  }
  template <class D>
  static void check_list(const ShapeContext<D>& c, const char* name, const std::vector<int64_t>& list,
                         size_t count, int64_t least) {
    if (!list.empty() && list.size() != count)
      c.fail(Code::node_bad_attribute, std::string(name) + " of " + std::to_string(count) + " numbers",
             std::to_string(list.size()) + " numbers", "give one number for each end or axis");
    for (int64_t v : list)
      if (v < least || v > INT32_MAX)
        c.fail(Code::node_bad_attribute,
               std::string(name) + " in [" + std::to_string(least) + ", 2147483647]", std::to_string(v), {});
  }

  /// Input positions from the first to the last that a window touches.
  template <class D>
  D reach(size_t axis, const D& kernel) const {
    return plus(times(minus(kernel, D(1)), D(dilation(axis))), D(1));
  }

  /// Number of windows along an axis; `check` has passed.
  template <class D>
  D output_size(const ShapeContext<D>& c, size_t axis, const D& in, const D& kernel) const {
    if (const auto k = known(kernel); k && (*k < 1 || *k > INT32_MAX))
      c.fail(Code::node_bad_shape, "a kernel size in [1, 2147483647]", std::to_string(*k), {});
    const D s(stride(axis));
    if (same()) return ceil_div(in, s);
    const D covered = reach(axis, kernel);
    if (!explicit_pads()) return at_least_none(c, plus(floor_div(minus(in, covered), s), D(1)), in, kernel);
    const D padded = plus(in, D(pad_begin(axis) + pad_end(axis)));
    if (!ceil_mode) return at_least_none(c, plus(floor_div(minus(padded, covered), s), D(1)), in, kernel);
    const D rounded_up = plus(ceil_div(minus(padded, covered), s), D(1));
    // A window that would start in the padding at the end is left out.
    const D starts = ceil_div(plus(in, D(pad_begin(axis))), s);
    const D beyond = plus(minus(D(pad_end(axis)), covered), s);
    const auto never = known(beyond);
    return at_least_none(c, never && *never <= 0 ? rounded_up : min(rounded_up, starts), in, kernel);
  }

  /// The numbers of an axis of `in` elements with `out` windows.
  WindowAxis axis(size_t i, int64_t in, int64_t kernel, int64_t out) const {
    WindowAxis a{in, out, kernel, stride(i), dilation(i), 0, 0};
    if (same()) {
      const int64_t total = std::max<int64_t>(0, (out - 1) * a.stride + reach(i, kernel) - in);
      a.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      a.pad_end = total - a.pad_begin;
    } else if (explicit_pads()) {
      a.pad_begin = pad_begin(i);
      a.pad_end = pad_end(i);
    }
    return a;
  }

 private:
  template <class D>
  static D at_least_none(const ShapeContext<D>& c, D windows, const D& in, const D& kernel) {
    const auto n = known(windows);
    c.require(!n || *n >= 0, "a window within the padded input",
              "kernel size " + to_text(kernel) + " over " + to_text(in) + " elements",
              "use a smaller kernel or dilation, or more padding");
    return windows;
  }
};

/// The spatial axes of one execution. Kernels with inner loops written for two axes take shorter inputs with
/// axes of size 1 in front.
using WindowAxes = InlineVector<WindowAxis, 3>;

}  // namespace lathe
