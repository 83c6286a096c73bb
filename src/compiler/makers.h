// Finds the nodes that make the required values of a graph, and adds nodes that change types.
#pragma once

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Calls f for every value that a node or its bodies read.
template <class F>
void each_read(const Node& n, F&& f) {
  for (ValueId v : n.inputs)
    if (v != no_id) f(v);
  for (const Body& b : n.bodies)
    for (ValueId c : b.graph->captures()) f(b.graph->value(c).captured);
}

/// Returns the node that makes a value if it is such an operator, else null.
inline const Node* made_by(const Graph& g, ValueId v, std::string_view op, std::string_view domain = {}) {
  const NodeId p = v == no_id ? no_id : g.value(v).producer;
  return p != no_id && g.node(p).domain == domain && g.node(p).op == op ? &g.node(p) : nullptr;
}

/// The nodes that make `live` values (by value id) or are `also_live`, and whatever these read; in order.
template <class F>
std::vector<NodeId> makers_of(const Graph& g, std::vector<bool> live, F&& also_live) {
  std::vector<NodeId> order = g.order(), makers;
  for (NodeId id : std::views::reverse(order)) {
    const Node& n = g.node(id);
    const auto is_live = [&](ValueId v) { return v != no_id && live[v]; };
    if (std::ranges::none_of(n.outputs, is_live) && !also_live(n)) continue;
    makers.push_back(id);
    each_read(n, [&](ValueId v) { live[v] = true; });
  }
  std::ranges::reverse(makers);
  return makers;
}

/// Adds a Cast of `from` that makes `to`.
inline void add_cast(Graph& g, ValueId from, ValueId to) {
  Node n;
  n.op = "Cast";
  n.inputs = {from};
  n.outputs = {to};
  n.attributes.set("to", static_cast<int64_t>(g.value(to).type.elem));
  g.add_node(std::move(n));
}

/// True for each value that is an output of the graph.
inline std::vector<bool> outputs_of(const Graph& g) {
  std::vector<bool> outputs(g.value_count());
  for (ValueId v : g.outputs()) outputs[v] = true;
  return outputs;
}

}  // namespace lathe
