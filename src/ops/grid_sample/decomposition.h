// GridSample in operators that are older than it.
#pragma once

#include "schema/schema.h"

namespace lathe::decomposition {

std::vector<ValueId> grid_sample(DecomposeContext& c);

}  // namespace lathe::decomposition
