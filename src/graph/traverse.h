// Ways through a graph: its bodies, what a node reads, and what makes a value.
#pragma once

#include <algorithm>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Calls f for a graph and then for the bodies of its nodes, at any depth. A graph comes before its bodies,
/// which are looked up once f has returned.
template <class G, class F>
requires std::is_same_v<std::remove_const_t<G>, Graph>
void each_graph(G& g, F&& f) {
  f(g);
  for (NodeId id : g.order())
    for (const Body& b : g.node(id).bodies) each_graph(static_cast<G&>(*b.graph), f);
}

/// Calls f for every value that a node or its bodies read.
template <class F>
void each_read(const Node& n, F&& f) {
  for (ValueId v : n.inputs)
    if (v != no_id) f(v);
  for (const Body& b : n.bodies)
    for (ValueId c : b.graph->captures()) f(b.graph->value(c).captured);
}

/// True for each value that is an output of the graph.
inline std::vector<bool> outputs_of(const Graph& g) {
  std::vector<bool> outputs(g.value_count());
  for (ValueId v : g.outputs()) outputs[v] = true;
  return outputs;
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

}  // namespace lathe
