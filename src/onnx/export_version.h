// Finds the versions of the standard that can express a graph.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schema/schema.h"

namespace lathe {

/// Values of indices that are known, from decompositions, to be counted from the front, by their graph.
using FromFront = std::set<std::pair<const Graph*, ValueId>>;

/// Downgrades a node of `g`, version by version, as far as its meaning, attributes, arity and types can be
/// expressed, but not below the version in force at opset `least`. Returns the version of the result. `g`
/// gets the constants that the node needs in that form.
const Version& downgrade(Graph& g, Node& n, const OpSchema& schema, int min_opset,
                         const FromFront& known = {});

/// Returns the version at which downgrade() would end.
const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema, int min_opset,
                              const FromFront& known = {});

/// The reason why opsets before `since` cannot express a node, in words that follow "needs opset N: ", and
/// what else helps than a newer opset.
struct Obstacle {
  int since = 0;
  std::string why, remedy = {};
};

/// Returns the obstacle that keeps downgrade() above the version in force at `least`; nothing if there is
/// none.
std::optional<Obstacle> obstacle_below(const Graph& g, const Node& n, const OpSchema& schema, int min_opset,
                                       const FromFront& known = {});

/// Throws node_cannot_convert: `opset` was requested, and the node needs that of the obstacle.
[[noreturn]] void refuse_at(const Graph& g, const Node& n, int opset, const Obstacle& o);

/// The IR version that a type needs.
int ir_version_for(const ValueType& t);
/// Returns the IR version of the release that introduced the opset.
int ir_version_for_opset(int opset);

}  // namespace lathe
