#include "compiler/dead_code.h"

#include <algorithm>

namespace lathe {

void remove_unread(Graph& graph, const std::vector<ValueId>& kept) {
  std::vector<bool> wanted(graph.value_count());
  for (ValueId v : graph.outputs()) wanted[v] = true;
  for (ValueId v : kept) wanted[v] = true;
  const std::vector<NodeId> order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = graph.node(*id);
    const bool read = !n.bodies.empty() ||
                      std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && wanted[v]; });
    if (!read) {
      graph.remove_node(*id);
      continue;
    }
    for (ValueId v : n.inputs)
      if (v != no_id) wanted[v] = true;
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) wanted[b.graph->value(c).captured] = true;
  }
}

}  // namespace lathe
