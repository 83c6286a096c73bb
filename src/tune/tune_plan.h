// Gives the steps of a finished plan the tactics that are fastest.
#pragma once

#include "plan/plan.h"
#include "tune/tuner.h"

namespace lathe {

/// Kernels and packed constants are exchanged where another tactic of the same backend wins; steps keep what
/// was measured. Throws what Tuner::answer throws; the plan is then as it was.
void tune_plan(Plan& plan, Tuner& tuner, const KernelCatalog& kernels, RunControl* control);

}  // namespace lathe
