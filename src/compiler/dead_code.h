// Removal of dead code.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Removes the nodes of the graph (not of its bodies) whose results nothing reads, except those that make
/// `kept`.
void remove_unread(Graph& graph, const std::vector<ValueId>& kept);

}  // namespace lathe
