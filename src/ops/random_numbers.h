// Random numbers of operators.
#pragma once

#include "base/counter_random.h"

namespace lathe {

/// A seed for a node that gives none: another one each time.
uint64_t fresh_seed();

}  // namespace lathe
