// KV caches that get longer and have rows written into them, in one step.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// Makes lathe.UpdateCache of the node if it is a TensorScatter behind a Pad that nobody else reads and that
/// adds zeros at the end of the same axis. Returns whether it did; the Pad is then read by nobody.
bool join_cache_update(Graph& graph, NodeId id);
/// Does so for all nodes of a graph and its bodies. Returns whether there was one.
bool use_cache_updates(Graph& graph);

}  // namespace lathe
