#include "compiler/tap_restore.h"

#include <algorithm>

#include "base/glob.h"
#include "graph/traverse.h"

namespace lathe {
namespace {

bool exists(const Graph& g, ValueId v) {
  const ValueInfo& info = g.value(v);
  return info.producer != no_id || info.constant || info.is_input || info.captured != no_id;
}

void find(const Graph& g, const std::vector<std::string>& patterns, TappedValues& found) {
  std::vector<ValueId> list;
  for (ValueId v = 0; v < g.value_count(); ++v) {
    // A value that a body captures belongs to the graph around it.
    const ValueInfo& info = g.value(v);
    if (info.captured == no_id && exists(g, v) &&
        std::ranges::any_of(patterns, [&](const std::string& p) { return glob_match(p, info.name); }))
      list.push_back(v);
  }
  if (!list.empty()) found[&g] = std::move(list);
}

/// Adds a node that the optimizer removed, after the nodes that it reads. Values have their old ids: those
/// that still exist have not changed.
NodeId add_back(Graph& g, const Graph& before, NodeId id) {
  // Depth first without recursion: models are deep.
  std::vector<NodeId> waiting{id};
  NodeId added = no_id;
  while (!waiting.empty()) {
    Node n = before.node(waiting.back());
    const size_t deep = waiting.size();
    auto need = [&](ValueId v) {
      if (!exists(g, v)) waiting.push_back(before.value(v).producer);
    };
    each_read(n, need);
    if (waiting.size() > deep) continue;
    waiting.pop_back();
    // Two of the waiting nodes read it.
    if (!waiting.empty() &&
        std::ranges::all_of(n.outputs, [&](ValueId v) { return v == no_id || exists(g, v); }))
      continue;
    for (ValueId& v : n.outputs)
      if (v != no_id && exists(g, v)) v = g.add_value(g.fresh_name(g.value(v).name), g.value(v).type);
    for (Body& b : n.bodies) b.graph = b.graph->clone(&g);
    added = g.add_node(std::move(n));
  }
  return added;
}

}  // namespace

Tapped::Tapped(const Graph& g, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  before_ = g.clone();
  each_graph(*before_, [&](const Graph& g) { find(g, patterns, values_); });
}

bool Tapped::is_inside(const Node& n) const {
  return std::ranges::any_of(n.bodies, [&](const Body& b) {
    if (values_.contains(b.graph.get())) return true;
    return std::ranges::any_of(b.graph->order(), [&](NodeId id) { return is_inside(b.graph->node(id)); });
  });
}

void Tapped::restore(Graph& g, const Graph& before, TappedValues& found) const {
  for (NodeId id : before.order()) {
    const Node& n = before.node(id);
    if (!is_inside(n)) continue;
    const NodeId here = g.node(id).alive ? id : add_back(g, before, id);
    for (size_t i = 0; i < n.bodies.size(); ++i)
      restore(*g.node(here).bodies[i].graph, *n.bodies[i].graph, found);
  }
  const auto wanted = values_.find(&before);
  if (wanted == values_.end()) return;
  std::vector<ValueId>& list = found[&g];
  for (ValueId v : wanted->second) {
    // The value that replaced it may have got its name.
    const ValueId named = g.find_value(before.value(v).name);
    if (named != no_id && exists(g, named)) {
      list.push_back(named);
      continue;
    }
    add_back(g, before, before.value(v).producer);
    list.push_back(v);
  }
}

TappedValues Tapped::restore(Graph& g) const {
  TappedValues found;
  if (!values_.empty()) restore(g, *before_, found);
  return found;
}

}  // namespace lathe
