// Programs of elementwise operators as one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/regions.h"

namespace lathe {

/// A region, or why there is none.
struct Composed {
  std::optional<Region> region;
  std::string refusal = {};  // "the program would be too long"
};

/// Composes the programs of the nodes, in this order; the result is that of the last node. `anchor`: makes
/// operand 0, unless it is no_id. There is no region if the program would be too long, or have too many
/// operands, or if the target refuses it.
Composed compose(const Graph& g, const std::map<NodeId, Pointwise>& programs, const Target::Fusion& fusion,
                 NodeId anchor, std::vector<NodeId> nodes);

}  // namespace lathe
