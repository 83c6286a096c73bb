// Gives convolutions and pools that leave their padding to auto_pad explicit pads, if these follow from known
// sizes: the fast layouts (src/compiler) require explicit pads.
#include <algorithm>

#include "ops/window.h"
#include "passes/pass.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

/// The properties of an operator with windows.
struct Windowed {
  Windowing window;
  Ints kernel;
  const SymShape* in = nullptr;   // the shape of the first input
  const SymShape* out = nullptr;  // the shape of the first output
  size_t axes() const { return in->size() - 2; }
  bool same() const { return window.same(); }
  int64_t reach(size_t i) const { return window.reach(i, kernel[i]); }
};

/// Sizes of the kernel, from the attribute or from the weights.
std::optional<Ints> kernel_of(const View& view, const Node& n, size_t axes) {
  if (auto given = n.attributes.get<Ints>("kernel_shape", {}); !given.empty()) return given;
  const size_t weights = n.op == "QLinearConv" ? 3 : 1;
  if (n.op.ends_with("Pool") || weights >= n.inputs.size()) return std::nullopt;
  const auto& shape = view.type(n.inputs[weights]).shape;
  if (!shape || shape->size() != axes + 2) return std::nullopt;
  Ints sizes;
  for (size_t i = 2; i < shape->size(); ++i) {
    if (!(*shape)[i].is_constant()) return std::nullopt;
    sizes.push_back((*shape)[i].constant());
  }
  return sizes;
}

std::optional<Windowed> windowed(const View& view, const Node& n) {
  const ValueType &x = view.type(n.inputs[0]), &y = view.type(n.outputs[0]);
  if (!x.is_tensor() || !y.is_tensor() || !x.shape || !y.shape || x.shape->size() < 3 ||
      x.shape->size() != y.shape->size())
    return std::nullopt;
  Windowed w;
  w.in = &*x.shape;
  w.out = &*y.shape;
  const auto kernel = kernel_of(view, n, w.axes());
  if (!kernel || kernel->size() != w.axes()) return std::nullopt;
  w.kernel = *kernel;
  w.window.auto_pad = n.attributes.get<std::string>("auto_pad", "NOTSET");
  w.window.strides = n.attributes.get<Ints>("strides", {});
  w.window.dilations = n.attributes.get<Ints>("dilations", {});
  return w.window.counts_fit(w.axes()) ? std::optional(w) : std::nullopt;
}

/// Returns the sum of the pads of an axis, if the difference of two sizes is a number.
std::optional<int64_t> difference(const Dim& wanted, const Dim& there) { return (wanted - there).value(); }

/// Returns how far windows reach beyond the image. With stride 1, or a size that is known to be a multiple of
/// the stride, this does not depend on the size.
std::optional<int64_t> missing(const Windowed& w, size_t i) {
  const Dim stride(w.window.stride(i)), &in = (*w.in)[i + 2];
  const auto total = difference((ceil_div(in, stride) - Dim(1)) * stride + Dim(w.reach(i)), in);
  return total ? std::optional(std::max<int64_t>(0, *total)) : std::nullopt;
}

/// Returns by how much the result of a transposed convolution is too large; nothing if it is too small: pads
/// cannot be negative.
std::optional<int64_t> excess(const Windowed& w, const Ints& output_padding, size_t i) {
  const Dim made = ((*w.in)[i + 2] - Dim(1)) * Dim(w.window.stride(i)) +
                   Dim(w.reach(i) + (output_padding.empty() ? 0 : output_padding[i]));
  const auto total = difference(made, (*w.out)[i + 2]);
  return total && *total >= 0 ? total : std::nullopt;
}

bool wants_size(const Node& n) {
  return n.op == "ConvTranspose" && !n.attributes.get<Ints>("output_shape", {}).empty();
}

std::optional<Ints> pads_of(const Node& n, const Windowed& w) {
  const size_t axes = w.axes();
  const bool transposes = n.op == "ConvTranspose";
  const auto output_padding = n.attributes.get<Ints>("output_padding", {});
  Ints pads(2 * axes, 0);
  if (!w.same() && !wants_size(n)) return pads;  // VALID
  if (transposes && !output_padding.empty() && output_padding.size() != axes) return std::nullopt;
  for (size_t i = 0; i < axes; ++i) {
    const auto total = transposes ? excess(w, output_padding, i) : missing(w, i);
    if (!total) return std::nullopt;
    pads[i] = w.window.auto_pad == "SAME_UPPER" ? *total / 2 : *total - *total / 2;
    pads[axes + i] = *total - pads[i];
  }
  return pads;
}

std::optional<Patch> propose_explicit_padding(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto how = n.attributes.get<std::string>("auto_pad", "NOTSET");
  if ((how.empty() || how == "NOTSET") && !wants_size(n)) return std::nullopt;
  const auto w = windowed(view, n);
  const auto pads = w ? pads_of(n, *w) : std::nullopt;
  if (!pads || *std::ranges::max_element(*pads) > INT32_MAX) return std::nullopt;
  Attributes attributes = n.attributes;
  // With auto_pad, sizes are rounded down whatever ceil_mode is.
  for (const char* name : {"auto_pad", "ceil_mode", "output_shape"}) attributes.erase(name);
  attributes.set("pads", *pads);
  Patch p("the padding follows from known sizes");
  const bool indices = n.outputs.size() > 1 && n.outputs[1] != no_id;
  const std::vector<ValueId> made = p.add_node(n.op, n.inputs, indices ? 2 : 1, std::move(attributes));
  for (size_t i = 0; i < made.size(); ++i) p.replace_uses(n.outputs[i], made[i]);
  p.remove(id);
  return p;
}

}  // namespace

void pass_explicit_padding(PassList& all) {
  all.push_back(
      {.name = "explicit-padding",
       .description =
           "gives convolutions and pools numbers for pads where auto_pad or output_shape implies them",
       .level = OptimizationLevel::basic,
       .anchors = {"Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"},
       .propose = propose_explicit_padding});
}

}  // namespace lathe
