// What one patch did, read off the graph before and after it.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Of the main graph; what a patch does inside a body is told of the node that has the body.
struct PatchTraces {
  /// What was read before, and what is read in its place.
  std::vector<std::pair<ValueId, ValueId>> replaced;
  /// What the new values are made of, and was there before.
  std::vector<ValueId> known;
  std::vector<NodeId> made;  // nodes of the graph after it
};

/// The graphs have the same numbers for what they share.
PatchTraces patch_traces(const Graph& before, const Graph& after);

}  // namespace lathe
