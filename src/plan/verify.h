// A plan is only run when every index in it is sound.
#pragma once

#include "plan/plan.h"

namespace lathe {

/// Throws plan_malformed, saying which graph and step: indices out of range, values used before they are made
/// or made twice, bodies that contain themselves, aliases of nothing.
void verify(const Plan& plan);

}  // namespace lathe
