// How much memory any run of a profile needs.
#pragma once

#include "lathe/engine.h"
#include "runtime/memory_plan.h"

namespace lathe {

struct ProfileReserve {
  /// The memory plan for the greatest sizes, with the most workspace, arenas and outputs that any size was
  /// found to want: kernels cut their work by shape, and may want more scratch for less work.
  MemoryPlan peak;
  ShapeKey greatest;  // the greatest sizes, before lengths of states are rounded up
};

/// Throws bad_argument where an input that the profile leaves out has no known shape, and what shape rules
/// throw.
ProfileReserve reserve_of(const Engine::Impl& engine, const PlanProfile& profile);

}  // namespace lathe
