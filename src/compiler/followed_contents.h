// Finds the values whose contents are followed along with shapes (tensor/contents.h), because shapes of other
// values may depend on them. The nodes that compute them have shape rules of their own, and stay steps of
// their own.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"

namespace lathe {

/// Returns for each value whether its contents follow from shapes and constants and may determine a shape.
/// `order`: the nodes that are lowered, producers first.
std::vector<bool> followed_contents(const Graph& graph, const std::vector<NodeId>& order,
                                    const KernelCatalog& kernels);

}  // namespace lathe
