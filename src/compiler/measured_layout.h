// Which nodes are worth laying out in channel blocks, by what they and the conversions between the layouts
// take.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "kernel/select.h"
#include "tune/tuner.h"

namespace lathe {

/// A graph as it is, and a clone of it where all that can be blocked is.
struct BothLayouts {
  const Graph& nchw;
  const Graph& blocked;
  std::map<NodeId, NodeId> converted;  // from nodes of the one to those that replace them in the other
};

/// The nodes of `nchw` that make the whole graph fastest when they are converted and no others: the cheapest
/// cut between the two layouts. Elementwise operators cost nothing where they are in the layout of what they
/// can be fused with. Nothing where a time is missing. Throws what Tuner::measure_all throws.
std::optional<std::set<NodeId>> worth_blocking(const BothLayouts& both, const KernelCatalog& kernels,
                                               const Preference& preference, Tuner& tuner);

}  // namespace lathe
