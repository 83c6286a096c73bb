// Finds the checks at run time that passes must not remove: an optimized model refuses the sizes that the
// model as written refuses.
#pragma once

#include "passes/pass.h"

namespace lathe {

/// Returns whether a run may refuse this movement of elements, as far as inference knows: Reshape and Expand
/// by sizes that only the run has, or that are not known to fit; Squeeze of an axis that may be longer than
/// 1; Split and Concat of sizes that may disagree; axes, steps and repeats that only the run has. False for
/// all other operators: passes keep whatever reads their operands. Sizes are assumed to be 1 or more: a size
/// of 0 means another one in a Reshape, and no -1 follows from it, so that graphs that compute sizes refuse
/// tensors without elements now and then, where nothing is to be lost.
bool may_refuse(const View& view, const Node& n);

}  // namespace lathe
