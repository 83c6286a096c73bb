// LayerNormalization and RMSNormalization as exporters decompose them, piece by piece: first the
// normalization, with a scale of ones; a scale and a bias behind it are then folded into it.
#include "passes/norm_patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// A scale of ones that is larger is not worth its memory.
constexpr int64_t max_ones = int64_t{1} << 16;

Attributes attributes(const Deviation& d, size_t rank) {
  Attributes a;
  // Counted from the back, as the operators' defaults are.
  if (const int64_t axis = d.axis - static_cast<int64_t>(rank); axis != -1) a.set("axis", axis);
  a.set("epsilon", static_cast<float>(d.epsilon));
  return a;
}

/// Replaces `v` by x normalized, with the scale that `scale` adds to the patch, if any.
template <class Scale>
std::optional<Patch> normalize(const View& view, NodeId id, const Deviation& d, Scale&& scale) {
  const ValueId v = view.node(id).outputs[0];
  const ValueId whole = centered(view, d.x, d.axis), x = whole == no_id ? d.x : whole;
  if (!computes_alike(view, x) || !view.same_type(x, v)) return std::nullopt;
  Patch p(whole == no_id ? "a chain that computes RMSNormalization"
                         : "a chain that computes LayerNormalization");
  const std::optional<ValueId> by = scale(p);
  if (!by) return std::nullopt;
  p.replace_uses(v, p.add(whole == no_id ? "RMSNormalization" : "LayerNormalization", {x, *by},
                          attributes(d, *view.rank(x))));
  p.remove(id);
  return p;
}

/// Adds a scale of ones for the axes that are normalized; nothing if it would be large.
std::optional<ValueId> add_ones(const View& view, Patch& p, ValueId x, int64_t axis) {
  const auto sizes = last_sizes(view, x, axis);
  if (!sizes || count_of(*sizes) > max_ones) return std::nullopt;
  Tensor ones(view.type(x).elem, *sizes);
  for (int64_t i = 0; i < ones.size(); ++i) store_double(ones, i, 1);
  return p.add_constant("ones", std::move(ones));
}

/// x / deviation; the anchor is the Div or Mul.
std::optional<Patch> unscaled(const View& view, NodeId id) {
  const auto d = normalized(view, view.node(id).outputs[0]);
  return d ? normalize(view, id, *d, [&](Patch& p) { return add_ones(view, p, d->x, d->axis); })
           : std::nullopt;
}

/// 1 / deviation * scale: some models multiply these before x.
struct ScaledInverse {
  Deviation of;
  ValueId scale = no_id;
};
std::optional<ScaledInverse> scaled_inverse(const View& view, ValueId v) {
  const Node* mul = view.made_by(v, "Mul");
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto d = mul ? inverse_deviation(view, mul->inputs[i]) : std::nullopt;
    if (d && covers_last_axes(view, mul->inputs[1 - i], d->x, d->axis))
      return ScaledInverse{*d, mul->inputs[1 - i]};
  }
  return std::nullopt;
}

/// x * (1 / deviation * scale); the anchor is the outer Mul.
std::optional<Patch> scaled_before(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    auto s = scaled_inverse(view, n.inputs[i]);
    if (!s || !same_magnitude(view, n.inputs[1 - i], s->of.x)) continue;
    s->of.x = n.inputs[1 - i];
    return normalize(view, id, s->of, [&](Patch&) { return std::optional(s->scale); });
  }
  return std::nullopt;
}

/// x * s + (bias - mean * s), where s = 1 / deviation * scale: as TensorFlow expresses it; the anchor is the
/// Add.
std::optional<Patch> moved_together(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node *scaled = view.made_by(n.inputs[i], "Mul"), *rest = view.made_by(n.inputs[1 - i], "Sub");
    const Node* moved = rest ? view.made_by(rest->inputs[1], "Mul") : nullptr;
    if (!scaled || !moved) continue;
    for (size_t j : {size_t{0}, size_t{1}}) {
      const ValueId by = scaled->inputs[j], x = scaled->inputs[1 - j], average = other_input(*moved, by);
      const auto s = average == no_id ? std::nullopt : scaled_inverse(view, by);
      const auto m = s ? mean(view, average) : std::nullopt;
      const Node* difference = m ? view.made_by(s->of.x, "Sub") : nullptr;
      if (!difference || m->x != x || m->axis != s->of.axis || other_input(*difference, x) != average ||
          !computes_alike(view, x) || !covers_last_axes(view, rest->inputs[0], x, m->axis) ||
          !view.same_type(x, n.outputs[0]))
        continue;
      Patch p("a chain that computes LayerNormalization");
      p.replace_uses(n.outputs[0], p.add("LayerNormalization", {x, s->scale, rest->inputs[0]},
                                         attributes(s->of, *view.rank(x))));
      p.remove(id);
      return p;
    }
  }
  return std::nullopt;
}

/// The node of this operator that makes only `v`, for one reader, and its first normalized axis.
struct Norm {
  NodeId id = no_id;
  const Node* node = nullptr;
  int64_t axis = 0;
};
std::optional<Norm> norm(const View& view, ValueId v, std::string_view op) {
  const Node* n = view.made_by(v, op);
  if (!n || n->outputs.size() > 1 || !view.read_once(v)) return std::nullopt;
  const int64_t axis = n->attributes.get<int64_t>("axis", -1);
  const auto rank = view.rank(n->inputs[0]);
  if (!rank) return std::nullopt;
  return Norm{view.producer(v), n, axis < 0 ? axis + static_cast<int64_t>(*rank) : axis};
}

/// A value that is cast to float32 for the statistics, normalized, and cast back before it is scaled: the
/// operators do that themselves (stash_type). The anchor is the Cast back.
std::optional<Patch> without_casts(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    const auto found = norm(view, n.inputs[0], op);
    const Node* there = found ? view.made_by(found->node->inputs[0], "Cast") : nullptr;
    const DataType narrow = view.type(n.outputs[0]).elem;
    if (!there || found->node->inputs.size() != 2 || view.uniform(found->node->inputs[1]) != 1.0 ||
        !view.same_type(there->inputs[0], n.outputs[0]) ||
        (narrow != DataType::float16 && narrow != DataType::bfloat16) ||
        view.type(n.inputs[0]).elem != DataType::float32)
      continue;
    Patch p("casts that keep the statistics in float32");
    const auto ones = add_ones(view, p, there->inputs[0], found->axis);
    if (!ones) continue;
    p.replace_uses(n.outputs[0], p.add(op, {there->inputs[0], *ones}, found->node->attributes));
    p.remove(found->id);
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

/// Makes a factor the scale of a normalization that had a scale of ones; the anchor is the Mul.
std::optional<Patch> scale_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (const char* op : {"LayerNormalization", "RMSNormalization"})
    for (size_t i : {size_t{0}, size_t{1}}) {
      const auto found = norm(view, n.inputs[i], op);
      const ValueId by = n.inputs[1 - i];
      if (!found || found->node->inputs.size() != 2 || view.uniform(found->node->inputs[1]) != 1.0 ||
          !covers_last_axes(view, by, found->node->inputs[0], found->axis) ||
          view.type(by).elem != view.type(found->node->inputs[1]).elem)
        continue;
      Patch p("a scale behind a normalization that has none");
      p.replace_uses(n.outputs[0], p.add(op, {found->node->inputs[0], by}, found->node->attributes));
      p.remove(found->id);
      p.remove(id);
      return p;
    }
  return std::nullopt;
}

/// Makes a summand the bias of a normalization that had none; the anchor is the Add.
std::optional<Patch> bias_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto found = norm(view, n.inputs[i], "LayerNormalization");
    const ValueId by = n.inputs[1 - i];
    if (!found || found->node->inputs.size() != 2 ||
        !covers_last_axes(view, by, found->node->inputs[0], found->axis) ||
        view.type(by).elem != view.type(found->node->inputs[1]).elem)
      continue;
    Patch p("a bias behind a normalization that has none");
    p.replace_uses(n.outputs[0],
                   p.add("LayerNormalization", {found->node->inputs[0], found->node->inputs[1], by},
                         found->node->attributes));
    p.remove(found->id);
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> propose_recognize_norm(const View& view, NodeId id) {
  if (view.node(id).op == "Add") {
    auto p = bias_norm(view, id);
    return p ? std::move(p) : moved_together(view, id);
  }
  if (view.node(id).op == "Cast") return without_casts(view, id);
  auto p = unscaled(view, id);
  if (!p && view.node(id).op == "Mul") p = scaled_before(view, id);
  if (!p && view.node(id).op == "Mul") p = scale_norm(view, id);
  return p;
}

}  // namespace

void pass_recognize_norm(PassList& all) {
  all.push_back(
      {.name = "recognize-norm",
       .description = "finds LayerNormalization and RMSNormalization, with scale and bias or without",
       .level = OptimizationLevel::extended,
       .anchors = {"Add", "Mul", "Div", "Cast"},
       .propose = propose_recognize_norm});
}

}  // namespace lathe
