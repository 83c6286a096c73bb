// Finds the nodes that are worth laying out in channel blocks, by the times of nodes and of the conversions
// between the layouts.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "kernel/select.h"
#include "tune/tuner.h"

namespace lathe {

/// A graph as it is, and a clone of it in which all nodes that can be blocked are.
struct BothLayouts {
  const Graph& nchw;
  const Graph& blocked;
  std::map<NodeId, NodeId> converted;  // from nodes of the one to those that replace them in the other
};

/// Returns the nodes of `nchw` that make the whole graph fastest when they and no others are converted: the
/// cheapest cut between the two layouts. Elementwise operators cost nothing in the layout of the node that
/// they can be fused with. Returns nothing if a time is missing. Throws what Tuner::measure_all throws.
std::optional<std::set<NodeId>> worth_blocking(const BothLayouts& both, const KernelCatalog& kernels,
                                               const Preference& preference, Tuner& tuner);

}  // namespace lathe
