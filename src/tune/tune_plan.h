// Gives the steps of a plan the tactics that are fastest.
#pragma once

#include "plan/plan.h"
#include "runtime/packing.h"
#include "tune/tuner.h"

namespace lathe {

/// Exchanges kernels if another tactic of the same backend is faster, and keeps the timings in steps. Returns
/// whether one was exchanged: `packing`, which has not run yet, has then been filled again, and there may be
/// arrays that nothing reads. Throws what Tuner::measure_all throws; the plan is then as it was.
bool tune_plan(Plan& plan, Tuner& tuner, const KernelCatalog& kernels, Packing& packing);

}  // namespace lathe
