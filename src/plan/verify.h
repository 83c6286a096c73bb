// A plan is only run when every index in it is sound.
#pragma once

#include "plan/plan.h"

namespace lathe {

/// Throws plan_malformed, saying which graph and step: indices out of range, values used before they are made
/// or made twice, bodies that contain themselves, aliases of nothing.
void verify(const Plan& plan);

/// Returns the first step of the main graph that reads the old value of a state, or an alias of it, where the
/// step that makes the new one has written already; null if there is none. A step that makes the new one of
/// the old one reads it in time only if it writes some elements of its first input.
const PlanStep* late_reader(const Plan& plan, const PlanState& state);

}  // namespace lathe
