// Which versions of the standard can say a graph.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schema/schema.h"

namespace lathe {

/// Values of indices that are counted from the front, by their graph: what spellings know of them.
using FromFront = std::set<std::pair<const Graph*, ValueId>>;

/// Takes a node of `g` down, version by version, as far as its meaning, attributes, arity and types can be
/// said, but not below the version in force at opset `least`. Returns the version it is in now. `g` gets the
/// constants that the node needs in that form.
const Version& downgrade(Graph& g, Node& n, const OpSchema& schema, int least, const FromFront& known = {});

/// The version that downgrade() would end at, for a look ahead.
const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema, int least,
                              const FromFront& known = {});

/// Why opsets before `since` cannot say a node, in words that follow "needs opset N: ", and what else helps
/// than a newer opset.
struct Obstacle {
  int since = 0;
  std::string why, remedy = {};
};

/// What keeps downgrade() above the version in force at `least`; nothing where it gets there.
std::optional<Obstacle> obstacle_below(const Graph& g, const Node& n, const OpSchema& schema, int least,
                                       const FromFront& known = {});

/// Throws node_cannot_convert: `opset` is asked for, and the node needs that of the obstacle.
[[noreturn]] void refuse_at(const Graph& g, const Node& n, int opset, const Obstacle& o);

/// The IR version that a type needs.
int ir_version_for(const ValueType& t);
/// The IR version of the release that brought the opset.
int ir_version_for_opset(int opset);

}  // namespace lathe
