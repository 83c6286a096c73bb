// lathe.Block and lathe.Unblock: between [N, C, H, W] and channel blocks, [N, C / 16, H, W, 16]. The builder
// inserts them; they occur in plans, never in graphs. A single spatial axis is converted likewise. Elements
// are float32, or bytes: those of int8 are 128 more in blocks, where all are uint8. Unblock takes floats of
// 16 bits too. lathe.ChannelsLast converts float32 from channel blocks to channels as the last axis.
#pragma once

#include "tensor/arithmetic.h"
#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Channels of a block.
inline constexpr int64_t block_lanes = 16;

/// [N, C, spatial axes] → [N, C / 16, spatial axes, 16]
template <class D>
std::vector<D> blocked_shape(std::vector<D> x) {
  x[1] = ceil_div(x[1], D(block_lanes));
  x.push_back(D(block_lanes));
  return x;
}

/// Holds that `x` is the shape of one or two spatial axes in blocks.
template <class D>
void require_blocked(const ShapeContext<D>& c, const std::vector<D>& x) {
  c.require(x.size() == 4 || x.size() == 5, "X of rank 4 or 5: [N, C / 16, spatial axes, 16]", c.text(x));
  c.same(x.back(), D(block_lanes), "the last axis of X and the channels of a block");
}

/// … of so many channels.
template <class D>
void require_blocks_of(const ShapeContext<D>& c, const std::vector<D>& x, int64_t channels) {
  require_blocked(c, x);
  if (channels < 0 || channels > INT32_MAX)
    c.fail(Code::node_bad_attribute, "channels in [0, 2147483647]", std::to_string(channels), {});
  c.same(x[1], D((channels + block_lanes - 1) / block_lanes), "the blocks of X and of its channels");
}

namespace counting {

/// Every element of an output in blocks, [N, blocks, out…, lanes], sums over one filter [M, C/group, k…],
/// which is input `weights`: lanes beyond the last channel do not count.
template <class D>
D blocked_convolution(const OperandShapes<D>& s, size_t weights) {
  const auto &w = at(s.inputs, weights), &y = at(s.outputs, 0);
  if (y.size() < 3) throw Unknown{};
  D points = y[0];
  for (size_t i = 2; i + 1 < y.size(); ++i) points = points * y[i];
  return D(2) * points * product(w);
}

}  // namespace counting

struct Block {
  void fields(auto&&) {}
  template <class D>
  void shape(ShapeContext<D>& c) const {
    const auto& x = c.shape(0);
    c.require(x.size() == 3 || x.size() == 4, "X of rank 3 or 4: [N, C, spatial axes]", c.text(x));
    c.output(0, blocked_shape(x));
  }
};

struct Unblock {
  int64_t channels = 0;
  void fields(auto&& f) { f("channels", channels); }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocks_of(c, y, channels);
    y[1] = D(channels);
    y.pop_back();
    c.output(0, std::move(y));
  }
};

/// To [N, spatial axes, C], or with groups to [N, groups, spatial axes, C / groups]; or to several outputs
/// with so many of the last axis each.
struct ChannelsLast {
  static constexpr size_t max_outputs = 8;

  int64_t channels = 0;
  int64_t groups = 0;          // 0: no axis of groups
  std::vector<int64_t> split;  // none: one output
  void fields(auto&& f) {
    f("channels", channels);
    f("groups", groups);
    f("split", split);
  }
  int64_t width() const { return groups == 0 ? channels : channels / groups; }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    std::vector<D> y = c.shape(0);
    require_blocks_of(c, y, channels);
    if (groups < 0 || (groups > 0 && channels % groups != 0))
      c.fail(Code::node_bad_attribute, "a number of groups that divides the channels", std::to_string(groups),
             {});
    if (groups == 0)
      y.erase(y.begin() + 1);
    else
      y[1] = D(groups);
    const std::vector<int64_t> sizes = split.empty() ? std::vector{width()} : split;
    bool fit = sizes.size() == c.outputs() && sizes.size() <= max_outputs;
    int64_t left = width();
    for (size_t i = 0; fit && i < sizes.size(); left -= sizes[i++]) fit = sizes[i] >= 0 && sizes[i] <= left;
    if (!fit || left != 0)
      c.fail(Code::node_bad_attribute,
             "at most " + std::to_string(max_outputs) + " parts that make up " + std::to_string(width()) +
                 " channels, an output each",
             std::to_string(sizes.size()) + " parts and " + std::to_string(c.outputs()) + " outputs", {});
    for (size_t i = 0; i < sizes.size(); ++i) {
      y.back() = D(sizes[i]);
      c.output(i, y);
    }
  }
};

}  // namespace lathe
