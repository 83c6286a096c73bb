// What the operators of a graph check when it runs, and what therefore must not go: an optimised model
// refuses the sizes that the model as written refuses.
#pragma once

#include "passes/pass.h"

namespace lathe {

/// May a run refuse this movement of elements, as far as inference knows? Reshape and Expand by sizes that
/// only the run has, or of which nobody can say that they fit; Squeeze of an axis that may be longer than 1;
/// Split and Concat of sizes that may be at odds; axes, steps and repeats that only the run has. False of all
/// other operators: whatever reads their operands, passes keep. `positive`: sizes of 0 are left out of
/// account, of which a -1 in a Reshape does not follow.
bool may_refuse(const View& view, const Node& n, bool positive = false);

}  // namespace lathe
