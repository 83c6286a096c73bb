// KV caches that get longer and have rows written into them, in one step.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// Turns a TensorScatter into lathe.UpdateCache if it writes into the output of a Pad that nothing else reads
/// and that adds zeros at the end of the same axis. Returns whether it did; nothing reads the Pad then.
bool join_cache_update(Graph& graph, NodeId id);
/// Converts all such nodes of a graph. Returns whether anything changed.
bool use_cache_updates(Graph& graph);

}  // namespace lathe
