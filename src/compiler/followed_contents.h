// Which values are followed by their contents where shapes are (tensor/contents.h), so that others' shapes
// may depend on them: what computes them has a shape rule of its own, and stays a step of its own.
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
