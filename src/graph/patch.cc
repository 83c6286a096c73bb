#include <algorithm>

#include "graph/graph.h"
#include "graph/traverse.h"

namespace lathe {

const std::vector<Use>& UseIndex::of(ValueId v) const {
  static const std::vector<Use> none;
  return v < uses_.size() ? uses_[v] : none;
}

void UseIndex::added(NodeId id) {
  uses_.resize(graph_.value_count());
  const Node& n = graph_.node(id);
  for (uint32_t i = 0; i < n.inputs.size(); ++i)
    if (n.inputs[i] != no_id) uses_[n.inputs[i]].push_back({id, i});
}

void UseIndex::removing(NodeId id) {
  const Node& n = graph_.node(id);
  auto forget = [&](ValueId v) { std::erase_if(uses_[v], [&](const Use& u) { return u.node == id; }); };
  each_read(n, forget);
}

void UseIndex::replaced(ValueId from, ValueId to) {
  uses_.resize(graph_.value_count());
  std::vector<Use> moved = std::move(uses_[from]);
  uses_[from].clear();
  uses_[to].insert(uses_[to].end(), moved.begin(), moved.end());
}

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
  for (size_t i = 0; i < outputs; ++i) {
    made_.push_back({static_cast<int32_t>(added_.size()), static_cast<uint32_t>(i)});
    n.outputs.push_back(own + static_cast<uint32_t>(made_.size() - 1));
  }
  added_.push_back(n);
  return n.outputs;
}

void Patch::check_fits(const Graph& g) const {
  auto refuse = [&](std::string expected, std::string got) {
    throw Error(Code::internal, "patch '" + reason_ + "'", std::move(expected), std::move(got));
  };
  auto fits = [&](ValueId v) {
    if (v != no_id && !(v < own ? v < g.value_count() : v - own < made_.size()))
      refuse("values that exist", std::to_string(v));
  };
  for (const Node& n : added_)
    for (ValueId v : n.inputs) fits(v);
  for (const auto& [from, to] : replaced_) {
    fits(from), fits(to);
    if (from >= own || to == no_id)
      refuse("to replace a value of the graph by another", std::to_string(from));
    if (to < own && g.is_output(from))
      refuse("outputs replaced by values of the patch's own", g.value(from).name);
  }
  for (NodeId n : removed_)
    if (n >= g.node_count() || !g.node(n).alive) refuse("nodes that exist", std::to_string(n));
}

Patch::Applied Patch::apply(Graph& g, UseIndex& uses) const { return commit(g, uses, stage(g)); }

Patch::Staged Patch::stage(Graph& g) const {
  check_fits(g);
  Staged staged{.added = {}, .replaced = {}, .first_value = g.value_count(), .first_node = g.node_count()};
  std::vector<std::string> origin;
  std::string name;
  for (NodeId n : removed_) {
    const Node& old = g.node(n);
    for (const std::string& o : old.origin)
      if (std::ranges::find(origin, o) == origin.end()) origin.push_back(o);
    name = old.name;
  }

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

  for (const Node& draft : added_) {
    Node n = draft;
    for (ValueId& v : n.inputs) v = translate(v);
    for (ValueId& v : n.outputs) v = translate(v);
    n.origin = origin;
    n.name = added_.size() == 1 ? name : name + "/" + n.op;
    staged.added.push_back(g.add_node(std::move(n)));
  }
  for (const auto& [from, made] : replaced_) staged.replaced.emplace_back(from, translate(made));
  return staged;
}

Patch::Applied Patch::commit(Graph& g, UseIndex& uses, const Staged& staged) const {
  // Present readers are changed before new nodes are added, whose inputs stay as they are.
  Applied done{.added = staged.added, .touched = {}, .replaced = staged.replaced};
  for (const auto& [from, to] : staged.replaced) {
    for (const Use& u : uses.of(from)) {
      Node& reader = g.node(u.node);
      if (u.input != UINT32_MAX) {
        reader.inputs.set(u.input, to);
      } else {
        for (const Body& b : reader.bodies)
          for (ValueId c : b.graph->captures())
            if (b.graph->value(c).captured == from) b.graph->value(c).captured = to;
      }
      done.touched.push_back(u.node);
    }
    if (g.is_output(from)) {
      g.replace_output(from, to);
      g.swap_names(from, to);
    }
    uses.replaced(from, to);
  }
  for (NodeId n : staged.added) uses.added(n);
  for (NodeId n : removed_) {
    uses.removing(n);
    g.remove_node(n);
  }
  std::erase_if(done.touched, [&](NodeId n) { return !g.node(n).alive; });
  return done;
}

}  // namespace lathe
