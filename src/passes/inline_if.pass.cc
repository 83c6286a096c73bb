// An If whose condition is known runs the same branch in every run: that branch's nodes replace it. Exporters
// that trace shapes write such an If around every squeeze of an axis of unknown size.
#include <map>
#include <set>

#include "passes/pass.h"

namespace lathe {
namespace {

/// Returns whether a patch can add the nodes and constants of a branch: nodes have no bodies of their own,
/// and constants are no weights that may be exchanged.
bool can_move(const View& view, const Graph& branch) {
  for (NodeId id : branch.order()) {
    const Node& n = branch.node(id);
    if (!n.bodies.empty() || !n.overload.empty()) return false;
    for (ValueId v : n.outputs)
      if (v == no_id) return false;
  }
  for (ValueId v = 0; v < branch.value_count(); ++v) {
    const ValueInfo& info = branch.value(v);
    if (info.captured == no_id && info.constant &&
        (!info.constant->is_tensor() || view.is_exchangeable(info.constant)))
      return false;
  }
  return true;
}

std::optional<Patch> take_branch(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto condition = view.integers(n.inputs[0]);
  if (!condition || condition->size() != 1) return std::nullopt;
  const Graph* branch = n.body((*condition)[0] != 0 ? "then_branch" : "else_branch");
  if (!branch || branch->outputs().size() != n.outputs.size() || !can_move(view, *branch))
    return std::nullopt;
  Patch p((*condition)[0] != 0 ? "its condition is true" : "its condition is false");
  std::map<ValueId, ValueId> moved;
  const auto here = [&](ValueId v) {
    if (v == no_id) return v;
    const ValueInfo& info = branch->value(v);
    if (info.captured != no_id) return info.captured;
    const auto [at, fresh] = moved.try_emplace(v, no_id);
    if (fresh) at->second = p.add_constant(info.name, info.constant->tensor());
    return at->second;
  };
  for (NodeId b : branch->order()) {
    const Node& inner = branch->node(b);
    std::vector<ValueId> inputs;
    for (ValueId v : inner.inputs) inputs.push_back(here(v));
    const auto outputs =
        p.add_node(inner.op, std::move(inputs), inner.outputs.size(), inner.attributes, inner.domain);
    for (size_t i = 0; i < outputs.size(); ++i) moved[inner.outputs[i]] = outputs[i];
  }
  // Results keep their names, whatever the branch called them, and may be the same value several times.
  // Identity supports no sequences of maps: a node of the branch makes those, or the If stays.
  std::set<ValueId> given;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_id) continue;
    const ValueId inner = branch->outputs()[i];
    if (branch->value(inner).producer != no_id && given.insert(inner).second)
      p.replace_uses(n.outputs[i], moved.at(inner));
    else if (view.type(n.outputs[i]).is_tensor())
      p.replace_uses(n.outputs[i], p.add("Identity", {here(inner)}));
    else
      return std::nullopt;
  }
  p.remove(id);
  return p;
}

}  // namespace

void pass_inline_if(PassList& all) {
  all.push_back({.name = "inline-if",
                 .description = "puts the branch in the place of an If whose condition is known",
                 .level = OptimizationLevel::basic,
                 .anchors = {"If"},
                 .propose = take_branch});
}

}  // namespace lathe
