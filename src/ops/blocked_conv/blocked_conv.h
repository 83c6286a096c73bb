// lathe.BlockedConv: convolution of an image in channel blocks, or of a plain one into blocks. The builder
// inserts it; it occurs in plans, never in graphs.
//   X [N, C / 16, in…, 16] or plain [N, C, in…], W [M, C / group, kernel…], B [M], factor and shift [1, C /
//   16, 1…, 16] → Y [N, M / 16, out…, 16], means of rows [N, M / 16, …, 1, 16]
// If it is `scaled`, X * factor + shift within bounds replaces X in blocks. If it is `gated`, X * factor
// does, and each image may have factors of its own. In X, lanes beyond the last channel are never read; in Y
// they are 0 as long as X is finite. Groups are single channels, or some of them fill blocks. A depthwise one
// can output the mean of each row of Y, after the epilogue of the step.
#pragma once

#include <limits>

#include "ops/block/block.h"
#include "ops/window.h"
#include "tensor/channel_groups.h"

namespace lathe {

struct BlockedConv {
  Windowing window;  // with explicit pads
  int64_t group = 1;
  int64_t channels = 0;  // of X, without padding of the blocks
  bool nchw_input = false, scaled = false, gated = false;
  float least = -std::numeric_limits<float>::infinity(), greatest = std::numeric_limits<float>::infinity();
  std::vector<int64_t> tunables;  // the kernel's tunables; no attribute
  void fields(auto&& f) {
    f("channels", channels);
    f("dilations", window.dilations);
    f("gated", gated);
    f("group", group);
    f("pads", window.pads);
    f("nchw_input", nchw_input);
    f("scaled", scaled);
    f("scaled_greatest", greatest);
    f("scaled_least", least);
    f("strides", window.strides);
  }

  /// Returns whether every channel has a filter of its own.
  bool depthwise() const { return group > 1 && group == channels; }
  /// The number of sets of weights (channel_groups.h).
  int64_t sets(int64_t filters) const { return weight_sets(channels, filters, group, block_lanes); }
  /// Returns whether weights of this shape fit the attributes.
  bool fits(const Shape& w) const {
    if (group < 1 || channels < 1 || channels > INT32_MAX || (group > 1 && nchw_input)) return false;
    return (depthwise() ? w[0] == channels : sets(w[0]) > 0) && w[1] == channels / group &&
           window.counts_fit(w.size() - 2);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    const std::vector<D> x = c.shape(0);
    const std::vector<D> y = output(c, x, 1, 2);
    if (c.outputs() > 1) c.output(1, row_means(y));
    c.output(0, y);
    if (!scaled && !gated) return;
    c.require(!(scaled && gated), "an X that is scaled or gated", "both");
    c.require(!nchw_input, "an X in blocks, which is scaled", "one in NCHW");
    for (size_t i = 3; i < (gated ? 4 : 5); ++i) {
      const std::vector<D>& s = c.has(i) ? c.shape(i) : std::vector<D>();
      c.require(s.size() == x.size(), "a number for each channel of X, in blocks", c.text(s));
      std::vector<D> wanted(x.size(), D(1));
      wanted[1] = x[1], wanted.back() = x.back();
      if (gated) c.same(c.broadcast_pair({s[0]}, {x[0]})[0], x[0], "images and those of the gates");
      for (size_t axis = gated ? 1 : 0; axis < s.size(); ++axis)
        c.same(s[axis], wanted[axis], "factors and channels");
    }
  }
  template <class D>
  D operations(const OperandShapes<D>& s) const {
    return counting::blocked_convolution(s, 1);
  }
  /// The output for an X of that shape, where input `weights` is W and `bias` B.
  template <class D>
  std::vector<D> output(const ShapeContext<D>& c, const std::vector<D>& x, size_t weights,
                        size_t bias) const {
    const auto& w = c.shape(weights);
    if (nchw_input)
      c.require(x.size() == 3 || x.size() == 4, "X of rank 3 or 4: [N, C, spatial axes]", c.text(x));
    else
      require_blocked(c, x);
    const size_t spatial = x.size() - (nchw_input ? 2 : 3);
    c.require(w.size() == spatial + 2, "W of as many spatial axes as X", c.text(w) + " for " + c.text(x));
    check_channels(c, x[1], w);
    window.check(c, spatial);
    if (c.has(bias)) {
      c.require(c.rank(bias) == 1, "a bias of rank 1", c.text(c.shape(bias)));
      c.same(c.shape(bias)[0], w[0], "the size of the bias and the output channels");
    }
    std::vector<D> y{x[0], w[0]};
    for (size_t i = 0; i < spatial; ++i) y.push_back(window.output_size(c, i, x[i + 2], w[i + 2]));
    return blocked_shape(std::move(y));
  }

  template <class D>
  static std::vector<D> row_means(std::vector<D> y) {
    y[y.size() - 2] = D(1);
    return y;
  }

 private:
  template <class D>
  void check_channels(const ShapeContext<D>& c, const D& of_x, const std::vector<D>& w) const {
    if (channels < 1 || channels > INT32_MAX)
      c.fail(Code::node_bad_attribute, "channels in [1, 2147483647]", std::to_string(channels), {});
    if (group < 1 || channels % group != 0)
      c.fail(Code::node_bad_attribute, "groups of as many channels each", std::to_string(group), {});
    const int64_t held = nchw_input ? channels : (channels + block_lanes - 1) / block_lanes;
    c.same(of_x, D(held),
           nchw_input ? "the channels of X and the attribute" : "the blocks of X and of channels");
    c.same(w[1], D(channels / group), "the channels of W and of a group");
    if (depthwise()) c.same(w[0], D(channels), "input and output channels");
  }
};

/// lathe.Bf16BlockedConv: the same of an image in blocks, W bfloat16 and not depthwise; X is rounded to
/// bfloat16 too, the sums are in float32.
struct Bf16BlockedConv : BlockedConv {};

}  // namespace lathe
