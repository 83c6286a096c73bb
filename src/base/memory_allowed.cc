#include "base/memory_allowed.h"

#include "base/cpu.h"

namespace lathe {

uint64_t memory_allowed(uint64_t requested) {
  static const uint64_t by_groups = memory_limit();
  return requested > 0 ? requested : by_groups;
}

}  // namespace lathe
