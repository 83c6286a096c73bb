// Programs of elementwise operators as one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/regions.h"

namespace lathe {

/// Composes the programs of the nodes, in this order; the result is that of the last node. `anchor`: makes
/// operand 0, unless it is no_id. Returns nothing if the program would be too long, or have too many operands
/// or results at once.
std::optional<Region> compose(const Graph& g, const std::map<NodeId, Pointwise>& programs, NodeId anchor,
                              std::vector<NodeId> nodes);

}  // namespace lathe
