// Which versions of the standard can say what is in a graph.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// The IR version that a type needs.
int ir_version_for(const ValueType& t);
/// The IR version of the release that brought the opset.
int ir_version_for_opset(int opset);

}  // namespace lathe
