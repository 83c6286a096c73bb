// A plan built for wider instructions than this machine has (or may use): its kernels are chosen again, and
// what the old ones had packed is packed anew from its sources (weight_program.h).
#pragma once

#include "plan/plan.h"
#include "runtime/extensions.h"

namespace lathe {

/// Nothing to do where plan.isa <= isa. Throws build_no_kernel, told the node.
void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa);

}  // namespace lathe
