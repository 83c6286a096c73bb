// Windows of convolutions and pools, as numbers: what the layouts of images have in common.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/nchw16c.h"
#include "graph/graph.h"

namespace lathe {

/// Returns whether the pads are explicit, or there are none. Those of auto_pad SAME depend on the size of the
/// image.
inline bool explicit_pads(const Node& n) {
  const auto pad = n.attributes.get<std::string>("auto_pad", "NOTSET");
  return pad.empty() || pad == "NOTSET" || pad == "VALID";
}

/// A list with a number for each axis or end, as operators mean it: an empty one means the default, too.
inline std::vector<int64_t> list_or(const Attributes& a, const std::string& name,
                                    std::vector<int64_t> fallback) {
  auto list = a.get<std::vector<int64_t>>(name, {});
  return list.empty() ? std::move(fallback) : std::move(list);
}

/// True if a BlockedConv has one filter for each channel.
inline bool is_depthwise(const Attributes& a) {
  const auto group = a.get<int64_t>("group", 1);
  return group > 1 && group == a.get<int64_t>("channels", 0);
}

/// Pads, strides and dilations as numbers, for so many spatial axes.
inline void make_explicit(Node& n, size_t axes) {
  using Ints = std::vector<int64_t>;
  if (n.attributes.get<std::string>("auto_pad", "") == "VALID") {
    n.attributes.set("pads", Ints(2 * axes, 0));
    n.attributes.erase("ceil_mode");  // VALID ignores it, explicit pads do not
  }
  n.attributes.erase("auto_pad");
  n.attributes.set("pads", list_or(n.attributes, "pads", Ints(2 * axes, 0)));
  for (const char* name : {"strides", "dilations"})
    n.attributes.set(name, list_or(n.attributes, name, Ints(axes, 1)));
}

/// A window as make_explicit() leaves it; the attributes' names begin with `prefix`.
struct WindowAttributes {
  WindowAttributes(const Attributes& a, const std::string& prefix, size_t axes)
      : strides(list_or(a, prefix + "strides", std::vector<int64_t>(axes, 1))),
        dilations(list_or(a, prefix + "dilations", std::vector<int64_t>(axes, 1))),
        pads(list_or(a, prefix + "pads", std::vector<int64_t>(2 * axes, 0))) {}
  int64_t stride(size_t axis) const { return strides[axis]; }
  int64_t dilation(size_t axis) const { return dilations[axis]; }
  int64_t pad_begin(size_t axis) const { return pads[axis]; }
  int64_t pad_end(size_t axis) const { return pads[pads.size() / 2 + axis]; }
  std::vector<int64_t> strides, dilations, pads;
};
struct ConvolutionAttributes {
  ConvolutionAttributes(const Attributes& a, const char* channels_name, const std::string& prefix,
                        size_t axes)
      : channels(a.get<int64_t>(channels_name, 0)), window(a, prefix, axes) {}
  int64_t channels;
  WindowAttributes window;
};

/// [1, 1, in…] of an image [N, …, in…], in blocks or not; nothing where its size is not known.
inline std::optional<Shape> one_image(const Graph& g, ValueId image, size_t axes) {
  const auto& sizes = g.value(image).type.shape;
  Shape x = {1, 1};
  for (size_t axis = 2; axis < 2 + axes; ++axis) {
    const auto size = sizes && axis < sizes->size() ? (*sizes)[axis].value() : std::nullopt;
    if (!size) return std::nullopt;
    x.push_back(*size);
  }
  return x;
}

/// Returns the shape of a BlockedConv of constant weights for one image; nothing if its size is not known.
inline std::optional<cpu::BlockedShape> blocked_shape_of(const Graph& g, const Node& n) {
  const Shape& w = g.constant_tensor(n.inputs[1])->shape();
  const size_t spatial = w.size() - 2;
  const auto x = one_image(g, n.inputs[0], spatial);
  if (!x) return std::nullopt;
  const ConvolutionAttributes attributes(n.attributes, "channels", "", spatial);
  cpu::BlockedShape s = cpu::blocked_window(attributes, w);
  cpu::fit_image(s, attributes.window, *x, spatial);
  s.nchw = n.attributes.get<int64_t>("nchw_input", 0) != 0;
  return s;
}

}  // namespace lathe
