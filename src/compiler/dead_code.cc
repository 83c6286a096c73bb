#include "compiler/dead_code.h"

#include <ranges>

#include "graph/traverse.h"

namespace lathe {

void remove_unread(Graph& graph, const std::vector<ValueId>& kept) {
  std::vector<bool> live = outputs_of(graph), stays(graph.node_count());
  for (ValueId v : kept) live[v] = true;
  for (NodeId id : makers_of(graph, std::move(live), [](const Node& n) { return !n.bodies.empty(); }))
    stays[id] = true;
  for (NodeId id = 0; id < graph.node_count(); ++id)
    if (graph.node(id).alive && !stays[id]) graph.remove_node(id);
}

}  // namespace lathe
