// How much memory work may take where nobody says it.
#pragma once

#include <cstdint>

namespace lathe {

/// What was asked for; where that is 0, what this process's control groups allowed when it was first asked:
/// beyond that the system would end the process. 0: no limit.
uint64_t memory_allowed(uint64_t asked);

}  // namespace lathe
