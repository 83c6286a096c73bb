// Derivatives of operators whose outputs are elements of input 0, or zeros.
#pragma once

#include <vector>

#include "gradient/backward.h"

namespace lathe {

/// All elements along one axis.
ValueId flattened(Backward& b, ValueId v);

/// The operator itself moves the elements' numbers, from 1 (0 is nobody's), and then every gradient is added
/// where the number says. `inputs` are what the operator is given again; the numbers take the place of the
/// first.
void selection(Backward& b, std::vector<ValueId> inputs);

/// A rule: the operator is given its own inputs again.
void selection_rule(Backward& b);

}  // namespace lathe
