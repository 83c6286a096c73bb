#include <algorithm>

#include "graph/graph.h"

namespace lathe {

ValueId Patch::add_constant(std::string constant_name, Tensor t) {
  made_.push_back({-1, static_cast<uint32_t>(constants_.size())});
  constants_.emplace_back(std::move(constant_name), std::move(t));
  return own + static_cast<uint32_t>(made_.size() - 1);
}

std::vector<ValueId> Patch::add_node(std::string op, std::vector<ValueId> inputs, size_t outputs,
                                     Attributes attributes, std::string domain) {
  Node n;
  n.op = std::move(op);
  n.domain = std::move(domain);
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  std::vector<ValueId> made;
  for (size_t i = 0; i < outputs; ++i) {
    made_.push_back({static_cast<int32_t>(added_.size()), static_cast<uint32_t>(i)});
    made.push_back(own + static_cast<uint32_t>(made_.size() - 1));
  }
  n.outputs = made;
  added_.push_back(std::move(n));
  return made;
}

std::vector<NodeId> Patch::apply(Graph& g) const {
  auto fits = [&](ValueId v) {
    const bool known = v == no_id || (v < own ? v < g.value_count() : v - own < made_.size());
    if (!known) throw Error(Code::internal, "patch '" + name_ + "'", "values that exist", std::to_string(v));
  };
  for (const Node& n : added_)
    for (ValueId v : n.inputs) fits(v);
  for (const auto& [from, to] : replaced_) fits(from), fits(to);
  for (NodeId n : removed_)
    if (n >= g.node_count() || !g.node(n).alive)
      throw Error(Code::internal, "patch '" + name_ + "'", "nodes that exist", std::to_string(n));

  std::vector<ValueId> translated(made_.size());
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].node < 0) {
      const auto& [constant_name, t] = constants_[made_[i].index];
      translated[i] = g.add_constant(g.fresh_name(constant_name), t);
    } else {
      translated[i] = g.add_value(g.fresh_name(added_[static_cast<size_t>(made_[i].node)].op));
    }
  }
  auto translate = [&](ValueId v) { return v != no_id && v >= own ? translated[v - own] : v; };

  std::vector<NodeId> touched;
  for (const Node& draft : added_) {
    Node n = draft;
    for (ValueId& v : n.inputs) v = translate(v);
    for (ValueId& v : n.outputs) v = translate(v);
    touched.push_back(g.add_node(std::move(n)));
  }
  for (const auto& [from, to] : replaced_) {
    for (const Use& u : g.uses_of(translate(from)))
      // What the patch itself adds reads what it says it reads.
      if (std::find(touched.begin(), touched.end(), u.node) == touched.end()) touched.push_back(u.node);
    const size_t first_new = g.node_count() - added_.size();
    std::vector<std::vector<ValueId>> kept;
    for (size_t i = first_new; i < g.node_count(); ++i) kept.push_back(g.node(static_cast<NodeId>(i)).inputs);
    g.replace_uses(translate(from), translate(to));
    for (size_t i = first_new; i < g.node_count(); ++i)
      g.node(static_cast<NodeId>(i)).inputs = kept[i - first_new];
  }
  for (NodeId n : removed_) g.remove_node(n);
  std::erase_if(touched, [&](NodeId n) { return !g.node(n).alive; });
  return touched;
}

}  // namespace lathe
