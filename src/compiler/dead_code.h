// Dead code of a graph: what nobody reads.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Takes out the nodes of the graph (not of its bodies) whose results nobody reads, but for those that make
/// `kept`.
void remove_unread(Graph& graph, const std::vector<ValueId>& kept);

}  // namespace lathe
