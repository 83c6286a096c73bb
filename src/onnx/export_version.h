// Which versions of the standard can say a graph.
#pragma once

#include "schema/schema.h"

namespace lathe {

/// Takes a node of `g` down, version by version, as far as its meaning, attributes, arity and types can be
/// said, but not below the version in force at opset `least`. Returns the version it is in now. `g` gets the
/// constants that the node needs in that form.
const Version& downgrade(Graph& g, Node& n, const OpSchema& schema, int least);

/// The version that downgrade() would end at, for a look ahead.
const Version& lowest_version(const Graph& g, const Node& n, const OpSchema& schema, int least);

/// The IR version that a type needs.
int ir_version_for(const ValueType& t);
/// The IR version of the release that brought the opset.
int ir_version_for_opset(int opset);

}  // namespace lathe
