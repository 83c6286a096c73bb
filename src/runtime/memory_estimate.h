// What a context will hold, said before it runs.
#pragma once

#include "runtime/layout.h"

namespace lathe {

struct MemoryEstimate {
  uint64_t arena = 0, workspace = 0;  // of all frames
  uint64_t outputs = 0;               // of the main graph, none bound
  uint64_t data_dependent = 0;        // at most
  std::vector<std::string> uncounted;
  uint64_t records = 0;  // of all frames, one layout each
};

/// For inputs of these shapes; `layout` is the main graph's for them. Throws what shape rules throw.
MemoryEstimate estimate_memory(const Program& program, const Layout& layout);

}  // namespace lathe
