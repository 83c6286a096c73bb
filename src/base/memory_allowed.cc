#include "base/memory_allowed.h"

#include "base/cpu.h"

namespace lathe {

uint64_t memory_allowed(uint64_t asked) {
  static const uint64_t by_groups = memory_limit();
  return asked > 0 ? asked : by_groups;
}

}  // namespace lathe
