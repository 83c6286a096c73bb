// GridSample in operators that are older than it.
#pragma once

#include "schema/schema.h"

namespace lathe::spelling {

std::vector<ValueId> grid_sample(SpellContext& c);

}  // namespace lathe::spelling
