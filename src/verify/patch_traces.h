// The changes of one patch, found by comparing the graph before and after it.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Changes in the main graph; a change inside a body counts as one of the node that has the body.
struct PatchTraces {
  /// Pairs of a value that was read before and the value that is read in its place.
  std::vector<std::pair<ValueId, ValueId>> replaced;
  /// Values that existed before and that the new values are computed from.
  std::vector<ValueId> known;
  std::vector<NodeId> made;  // nodes of the graph after it
};

/// The graphs must have the same numbers for nodes and values that they share.
PatchTraces patch_traces(const Graph& before, const Graph& after);

}  // namespace lathe
