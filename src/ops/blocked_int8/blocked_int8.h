// Quantized convolutions and operators between them, from bytes to bytes in channel blocks, [N, C / 16, in…,
// 16]. The builder inserts them; they occur in plans, never in graphs.
//
// Bytes in blocks are uint8: int8 is raised by 128 (by Block, and lowered by Unblock). Scales and zero points
// are those of the model; the type of a zero point tells the original type of the bytes. In inputs, lanes
// beyond the last channel may hold anything.
#pragma once

#include <limits>

#include "ops/block/block.h"
#include "ops/blocked_pool/blocked_pool.h"
#include "ops/window.h"

namespace lathe {

/// Requires that input `i` has one element.
template <class D>
void require_single(const ShapeContext<D>& c, size_t i, const char* what) {
  const auto count = known(c.product(c.shape(i)));
  c.require(!count || *count == 1, std::string(what) + " of one number", c.text(c.shape(i)));
}

/// The bounds of a number before it is quantized: the activation in front of QuantizeLinear.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// lathe.BlockedInt8Conv: q = quantize(clamp(conv(x, w) + b), y_scale, y_zero), and with an image Z to add,
/// the result is quantize(clamp(q's number + z's), sum_scale, sum_zero).
///   X, x_scale, x_zero, W, w_scale, w_zero, y_scale, y_zero, B?, Z?, z_scale?, z_zero?, sum_scale?,
///   sum_zero?
/// W [M, C / group, kernel…] of eight bits; w_scale and w_zero are of one number or of M; B [M] is float32,
/// or int32 in units of x_scale * w_scale.
struct BlockedInt8Conv {
  Windowing window;  // with explicit pads
  int64_t group = 1;
  int64_t channels = 0;  // of X, without padding of the blocks
  Clamp clamp, sum_clamp;
  void fields(auto&& f) {
    f("channels", channels);
    f("clamp_high", clamp.high);
    f("clamp_low", clamp.low);
    f("dilations", window.dilations);
    f("group", group);
    f("pads", window.pads);
    f("strides", window.strides);
    f("sum_clamp_high", sum_clamp.high);
    f("sum_clamp_low", sum_clamp.low);
  }

  /// Returns whether every channel has a filter of its own.
  bool depthwise(const Shape& w) const { return group > 1 && group == channels && w[0] == channels; }
  /// Returns whether weights of this shape fit the attributes and the windows have usual sizes, because the
  /// image is copied with all that its windows reach.
  bool fits(const Shape& w) const {
    constexpr int64_t most = 1024;
    const auto usual = [](const std::vector<int64_t>& list) {
      for (int64_t v : list)
        if (v < 0 || v > most) return false;
      return true;
    };
    for (size_t i = 2; i < w.size(); ++i)
      if (w[i] > most) return false;
    return group >= 1 && channels % group == 0 && w[0] % group == 0 && channels >= 1 &&
           channels <= INT32_MAX && w[1] == channels / group && window.counts_fit(w.size() - 2) &&
           usual(window.pads) && usual(window.strides) && usual(window.dilations);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    const auto& w = c.shape(3);
    require_blocked(c, x);
    const size_t spatial = x.size() - 3;
    c.require(w.size() == spatial + 2, "W of as many spatial axes as X", c.text(w) + " for " + c.text(x));
    if (channels < 1 || channels > INT32_MAX)
      c.fail(Code::node_bad_attribute, "channels in [1, 2147483647]", std::to_string(channels), {});
    if (group < 1 || channels % group != 0)
      c.fail(Code::node_bad_attribute, "group to divide the channels", std::to_string(group), {});
    c.same(x[1], D((channels + block_lanes - 1) / block_lanes), "the blocks of X and of channels");
    c.same(w[1], D(channels / group), "the channels of W and of a group");
    const auto filters = known(w[0]);
    c.require(!filters || *filters % group == 0, "W of as many filters for each group", c.text(w));
    window.check(c, spatial);
    for (size_t i : {1u, 2u, 6u, 7u}) require_single(c, i, "a scale or zero point");
    for (size_t i : {4u, 5u}) {
      const auto count = known(c.product(c.shape(i)));
      if (!count || *count != 1) {
        c.require(c.rank(i) == 1, "scales of W: one, or one for each filter", c.text(c.shape(i)));
        c.same(c.shape(i)[0], w[0], "the scales of W and its filters");
      }
    }
    if (c.has(8)) {
      c.require(c.rank(8) == 1, "a bias of rank 1", c.text(c.shape(8)));
      c.same(c.shape(8)[0], w[0], "the size of the bias and the output channels");
    }
    std::vector<D> y{x[0], w[0]};
    for (size_t i = 0; i < spatial; ++i) y.push_back(window.output_size(c, i, x[i + 2], w[i + 2]));
    y = blocked_shape(std::move(y));
    if (c.has(9)) {
      for (size_t i = 10; i < 14; ++i) {
        c.require(c.has(i), "scales and zero points of Z and of the sum", "none");
        require_single(c, i, "a scale or zero point");
      }
      c.require(c.rank(9) == static_cast<int64_t>(y.size()), "Z of the shape of Y", c.text(c.shape(9)));
      for (size_t i = 0; i < y.size(); ++i) c.same(c.shape(9)[i], y[i], "sizes of Z and Y");
    }
    c.output(0, std::move(y));
  }

  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::blocked_convolution(s, 3);
  }
};

/// lathe.BlockedInt8Add: quantize(clamp(a's number + b's), y_scale, y_zero).
///   A, a_scale, a_zero, B, b_scale, b_zero, y_scale, y_zero
struct BlockedInt8Add {
  Clamp clamp;
  void fields(auto&& f) {
    f("clamp_high", clamp.high);
    f("clamp_low", clamp.low);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    c.require(c.rank(3) == c.rank(0), "A and B of one shape", c.text(c.shape(3)));
    for (size_t i = 0; i < y.size(); ++i) c.same(c.shape(3)[i], y[i], "sizes of A and B");
    for (size_t i : {1u, 2u, 4u, 5u, 6u, 7u}) require_single(c, i, "a scale or zero point");
    c.output(0, std::move(y));
  }
};

/// lathe.BlockedInt8Scale: quantize(clamp(x's number * f's number + h), y_scale, y_zero), where F is a number
/// for each channel: float32 [C], or an image of one pixel in blocks, [N, C / 16, 1…, 16], with its scale.
///   X, x_scale, x_zero, F, f_scale?, f_zero?, H?, y_scale, y_zero
/// H [C] is float32.
struct BlockedInt8Scale {
  int64_t channels = 0;  // the real ones
  Clamp clamp;
  void fields(auto&& f) {
    f("channels", channels);
    f("clamp_high", clamp.high);
    f("clamp_low", clamp.low);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    if (channels < 1 || channels > INT32_MAX)
      c.fail(Code::node_bad_attribute, "channels in [1, 2147483647]", std::to_string(channels), {});
    c.same(y[1], D((channels + block_lanes - 1) / block_lanes), "the blocks of X and of channels");
    for (size_t i : {1u, 2u, 7u, 8u}) require_single(c, i, "a scale or zero point");
    if (c.has(4)) {
      c.require(c.has(5), "a zero point of F", "none");
      for (size_t i : {4u, 5u}) require_single(c, i, "a scale or zero point");
      c.require(c.rank(3) == c.rank(0), "F of the rank of X", c.text(c.shape(3)));
      for (size_t i = 0; i < y.size(); ++i)
        c.same(c.shape(3)[i], i < 2 || i + 1 == y.size() ? y[i] : D(1), "sizes of F and one pixel of X");
    } else {
      c.require(c.rank(3) == 1, "factors of rank 1", c.text(c.shape(3)));
      c.same(c.shape(3)[0], D(channels), "factors and channels");
    }
    if (c.has(6)) {
      c.require(c.rank(6) == 1, "H of rank 1", c.text(c.shape(6)));
      c.same(c.shape(6)[0], D(channels), "H and channels");
    }
    c.output(0, std::move(y));
  }
};

/// lathe.BlockedInt8AveragePool: quantize(the mean of each window, y_scale, y_zero).
///   X, x_scale, x_zero, y_scale, y_zero
struct BlockedInt8AveragePool : BlockedAveragePool {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i : {1u, 2u, 3u, 4u}) require_single(c, i, "a scale or zero point");
    BlockedAveragePool::shape(c);
  }
};

/// lathe.BlockedInt8GlobalAveragePool: quantize(the mean of each channel, y_scale, y_zero).
///   X, x_scale, x_zero, y_scale, y_zero
struct BlockedInt8GlobalAveragePool {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocked(c, y);
    for (size_t i : {1u, 2u, 3u, 4u}) require_single(c, i, "a scale or zero point");
    std::fill(y.begin() + 2, y.end() - 1, D(1));
    c.output(0, std::move(y));
  }
};

}  // namespace lathe
