// LayerNormalization and RMSNormalization as exporters spell them.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// x and epsilon where v is sqrt(mean(x²) + epsilon).
struct Deviation {
  ValueId x = no_id;
  double epsilon = 0;
  int64_t axis = 0;
};
std::optional<Deviation> deviation(const View& view, ValueId v) {
  const Node* root = view.made_by(v, "Sqrt");
  const Node* sum = root ? view.made_by(root->inputs[0], "Add") : nullptr;
  const auto plus = sum ? with_number(view, *sum) : std::nullopt;
  const auto average = plus ? mean(view, plus->x) : std::nullopt;
  if (!average) return std::nullopt;
  const ValueId x = squared(view, average->x);
  if (x == no_id) return std::nullopt;
  return Deviation{x, plus->number, average->axis};
}

/// x and its deviation where v is x / sqrt(mean(x²) + epsilon), in either spelling.
std::optional<Deviation> normalised(const View& view, ValueId v) {
  if (const Node* div = view.made_by(v, "Div")) {
    const auto d = deviation(view, div->inputs[1]);
    return d && d->x == div->inputs[0] ? d : std::nullopt;
  }
  if (const Node* mul = view.made_by(v, "Mul"))
    for (size_t i : {size_t{0}, size_t{1}}) {
      ValueId root = no_id;
      if (const Node* inverse = view.made_by(mul->inputs[i], "Reciprocal")) root = inverse->inputs[0];
      if (const Node* inverse = view.made_by(mul->inputs[i], "Div"))
        if (view.uniform(inverse->inputs[0]) == 1.0) root = inverse->inputs[1];
      const auto d = root == no_id ? std::nullopt : deviation(view, root);
      if (d && d->x == mul->inputs[1 - i]) return d;
    }
  return std::nullopt;
}

/// x where v is x - mean(x) over the axes from `axis` on.
ValueId centred(const View& view, ValueId v, int64_t axis) {
  const Node* sub = view.made_by(v, "Sub");
  const auto average = sub ? mean(view, sub->inputs[1]) : std::nullopt;
  return average && average->x == sub->inputs[0] && average->axis == axis ? average->x : no_id;
}

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

/// The operators keep their statistics in float32; so does the pattern only for this type.
bool computes_alike(const View& view, ValueId x) { return view.type(x).elem == DataType::float32; }

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
