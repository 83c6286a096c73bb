// Programs of elementwise operators as one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/regions.h"

namespace lathe {

/// What the nodes do, in this order, of which each has a program over its inputs; what the last one makes is
/// the result. `anchor`: makes operand 0, unless it is no_id. Nothing where the program would be too long, or
/// have too many operands or results at once.
std::optional<Region> compose(const Graph& g, const std::map<NodeId, Pointwise>& programs, NodeId anchor,
                              std::vector<NodeId> nodes);

}  // namespace lathe
