// The memory that may be used if no limit was set.
#pragma once

#include <cstdint>

namespace lathe {

/// Returns `requested`, or if that is 0, the memory that this process's control groups allowed at the first
/// call: beyond that the system would end the process. 0: no limit.
uint64_t memory_allowed(uint64_t requested);

}  // namespace lathe
