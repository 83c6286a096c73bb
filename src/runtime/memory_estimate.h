// Estimates the memory of a context before it runs.
#pragma once

#include "runtime/memory_plan.h"

namespace lathe {

struct MemoryEstimate {
  uint64_t arena = 0, workspace = 0;  // of all frames
  uint64_t outputs = 0;               // of the main graph, none bound
  uint64_t data_dependent = 0;        // at most
  std::vector<std::string> uncounted;
  uint64_t records = 0;  // of all frames, one memory plan each
};

/// For inputs of these shapes; `memory_plan` is the main graph's for them. Throws what shape rules throw.
MemoryEstimate estimate_memory(const Program& program, const MemoryPlan& memory_plan);

}  // namespace lathe
