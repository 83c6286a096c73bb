// The targets of this build.
#include <array>

#include "compiler/target.h"
#include "targets/cpu/cpu.h"

namespace lathe {

std::span<const Target> built_in_targets() {
  static const std::array all{cpu_target()};
  return all;
}

}  // namespace lathe
