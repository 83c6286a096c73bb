// GroupNormalization as exporters decompose it: groups of channels become the channels of a normalization of
// instances, or the rows of one that is decomposed, and are reshaped back before scale and bias.
#include "ops/norm/norm.h"
#include "passes/norm_patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The value that was normalized within groups: x [N, groups, …].
struct Grouped {
  ValueId x = no_id;
  double epsilon = 0;
};

std::optional<Grouped> by_instance(const View& view, ValueId v) {
  const Node* n = view.made_by(v, "InstanceNormalization");
  if (!n || view.uniform(n->inputs[1]) != 1.0 || view.uniform(n->inputs[2]) != 0.0) return std::nullopt;
  return Grouped{n->inputs[0], decode<InstanceNormalization>(n->attributes).epsilon};
}

/// Matches what recognize-norm has made of it.
std::optional<Grouped> by_layer(const View& view, ValueId v) {
  const Node* n = view.made_by(v, "LayerNormalization");
  if (!n || n->inputs.size() != 2 || view.uniform(n->inputs[1]) != 1.0) return std::nullopt;
  const auto rank = view.rank(v);
  const auto op = decode<LayerNormalization>(n->attributes);
  if (!rank || op.axis != (op.axis < 0 ? 2 - static_cast<int64_t>(*rank) : 2)) return std::nullopt;
  return Grouped{n->inputs[0], op.epsilon};
}

std::optional<Grouped> decomposed(const View& view, ValueId v) {
  const auto d = normalized(view, v);
  if (!d || d->axis != 2) return std::nullopt;
  const ValueId x = centered(view, d->x, 2);
  if (x == no_id) return std::nullopt;
  return Grouped{x, d->epsilon};
}

/// x [N, C, …] and the number of groups, where v is x normalized within them.
struct Groups {
  ValueId x = no_id;
  int64_t count = 0;
  double epsilon = 0;
};
std::optional<Groups> groups(const View& view, ValueId v) {
  const Node* back = view.made_by(v, "Reshape");
  if (!back) return std::nullopt;
  auto normal = by_instance(view, back->inputs[0]);
  if (!normal) normal = by_layer(view, back->inputs[0]);
  if (!normal) normal = decomposed(view, back->inputs[0]);
  const Node* there = normal ? view.made_by(normal->x, "Reshape") : nullptr;
  if (!there || !view.same_type(there->inputs[0], v) || !computes_alike(view, v)) return std::nullopt;
  const auto &x = *view.type(v).shape, &split = *view.type(normal->x).shape;
  // The batch stays, so a group is a run of whole channels.
  if (x.size() < 3 || split.size() < 3 || !(x[0] == split[0]) || !x[1].is_constant() ||
      !split[1].is_constant() || split[1].constant() < 1 || x[1].constant() % split[1].constant() != 0)
    return std::nullopt;
  return Groups{there->inputs[0], split[1].constant(), normal->epsilon};
}

/// A constant of one element for each channel of x, of shape [C, 1, 1] or [1, C, 1, 1].
bool per_channel(const View& view, ValueId v, ValueId x) {
  const Tensor* t = view.constant(v);
  const SymShape& shape = *view.type(x).shape;
  if (!t || t->rank() + 1 < shape.size() || t->rank() > shape.size()) return false;
  const size_t skipped = shape.size() - t->rank();
  for (size_t i = 0; i < t->rank(); ++i)
    if (t->dim(i) != (i + skipped == 1 ? shape[1].constant() : 1)) return false;
  return true;
}

ValueId add_group_norm(Patch& p, const Groups& of, ValueId scale, ValueId bias) {
  Attributes a;
  a.set("epsilon", static_cast<float>(of.epsilon));
  a.set("num_groups", of.count);
  return p.add("GroupNormalization", {of.x, scale, bias}, std::move(a));
}

/// Matches a value normalized within groups, times scale, plus bias; the anchor is the Add.
std::optional<Patch> group_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* mul = view.made_by(n.inputs[i], "Mul");
    if (!mul || !view.read_once(n.inputs[i])) continue;
    for (size_t j : {size_t{0}, size_t{1}}) {
      if (!view.read_once(mul->inputs[j])) continue;
      const auto found = groups(view, mul->inputs[j]);
      const ValueId scale = mul->inputs[1 - j], bias = n.inputs[1 - i];
      if (!found || !per_channel(view, scale, found->x) || !per_channel(view, bias, found->x)) continue;
      Patch p("a chain that computes GroupNormalization");
      const ValueId flat = p.add_constant("channels", ints({-1}));
      p.replace_uses(n.outputs[0], add_group_norm(p, *found, p.add("Reshape", {scale, flat}),
                                                  p.add("Reshape", {bias, flat})));
      p.remove(id);
      return p;
    }
  }
  return std::nullopt;
}

/// Matches one without scale and bias; the anchor is the Reshape back.
std::optional<Patch> plain_group_norm(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto found = groups(view, n.outputs[0]);
  if (!found) return std::nullopt;
  // If a scale follows, so may a bias: group_norm matches both together.
  for (const Use& u : view.uses(n.outputs[0]))
    if (u.input != UINT32_MAX && View::is(view.node(u.node), "Mul") &&
        per_channel(view, other_input(view.node(u.node), n.outputs[0]), found->x))
      return std::nullopt;
  const DataType t = view.type(found->x).elem;
  const int64_t channels = (*view.type(found->x).shape)[1].constant();
  const auto all = [&](double number) {
    Tensor list(t, {channels});
    for (int64_t i = 0; i < channels; ++i) store_double(list, i, number);
    return list;
  };
  Patch p("a chain that computes GroupNormalization without scale and bias");
  p.replace_uses(n.outputs[0],
                 add_group_norm(p, *found, p.add_constant("scale", all(1)), p.add_constant("bias", all(0))));
  p.remove(id);
  return p;
}

}  // namespace

void pass_recognize_group_norm(PassList& all) {
  all.push_back({.name = "recognize-group-norm",
                 .description = "finds GroupNormalization, by InstanceNormalization or decomposed",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Add"},
                 .propose = group_norm});
  all.push_back({.name = "recognize-plain-group-norm",
                 .description = "finds GroupNormalization without scale and bias",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Reshape"},
                 .propose = plain_group_norm});
}

}  // namespace lathe
