// Gives the steps of a plan the tactics that are fastest.
#pragma once

#include "plan/plan.h"
#include "runtime/packing.h"
#include "tune/tuner.h"

namespace lathe {

/// Kernels are exchanged where another tactic of the same backend wins; steps keep what was measured. True
/// when there was one: `packing`, whose work is still to be done, has then been noted anew, and arrays may be
/// left over that nobody reads. Throws what Tuner::answer throws; the plan is then as it was.
bool tune_plan(Plan& plan, Tuner& tuner, const KernelCatalog& kernels, Packing& packing);

}  // namespace lathe
