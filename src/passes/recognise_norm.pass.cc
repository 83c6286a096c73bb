// LayerNormalization and RMSNormalization as exporters spell them.
#include "passes/norm_patterns.h"

namespace lathe {
namespace {

Attributes attributes(const Deviation& d, size_t rank) {
  Attributes a;
  // Counted from the back, as the operators' defaults are.
  if (const int64_t axis = d.axis - static_cast<int64_t>(rank); axis != -1) a.set("axis", axis);
  a.set("epsilon", static_cast<float>(d.epsilon));
  return a;
}

/// The normalised value that a product scales, and its scale.
struct Scaled {
  Deviation of;
  ValueId scale = no_id;
};
std::optional<Scaled> scaled(const View& view, const Node& mul) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto d = normalised(view, mul.inputs[i]);
    if (d && view.type(d->x).shape && covers_last_axes(view, mul.inputs[1 - i], d->x, d->axis))
      return Scaled{*d, mul.inputs[1 - i]};
  }
  return std::nullopt;
}

/// (x - mean) / deviation * scale + bias; the anchor is the Add.
std::optional<Patch> layer_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* mul = view.made_by(n.inputs[i], "Mul");
    if (!mul || !view.read_once(n.inputs[i])) continue;
    const auto found = scaled(view, *mul);
    if (!found) continue;
    const ValueId x = centred(view, found->of.x, found->of.axis), bias = n.inputs[1 - i];
    if (x == no_id || !computes_alike(view, x) || !covers_last_axes(view, bias, x, found->of.axis) ||
        !view.same_type(x, n.outputs[0]))
      continue;
    Patch p("a chain that spells LayerNormalization");
    p.replace_uses(n.outputs[0], p.add("LayerNormalization", {x, found->scale, bias},
                                       attributes(found->of, *view.rank(x))));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

/// x / deviation * scale, where x is not centred; the anchor is the Mul.
std::optional<Patch> rms_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto found = scaled(view, n);
  if (!found) return std::nullopt;
  const ValueId x = found->of.x;
  if (centred(view, x, found->of.axis) != no_id || !computes_alike(view, x) ||
      !view.same_type(x, n.outputs[0]))
    return std::nullopt;
  Patch p("a chain that spells RMSNormalization");
  p.replace_uses(n.outputs[0],
                 p.add("RMSNormalization", {x, found->scale}, attributes(found->of, *view.rank(x))));
  p.remove(id);
  return p;
}

}  // namespace

void pass_recognise_norm(PassList& all) {
  all.push_back({.name = "recognise-layer-norm",
                 .says = "finds (x - mean) / deviation * scale + bias",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Add"},
                 .propose = layer_norm});
  all.push_back({.name = "recognise-rms-norm",
                 .says = "finds x / root mean square * scale",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Mul"},
                 .propose = rms_norm});
}

}  // namespace lathe
