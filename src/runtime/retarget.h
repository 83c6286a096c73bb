// A plan built for wider instructions than this machine has (or may use): its kernels are chosen again, and
// what the old ones had packed is packed anew from its sources.
#pragma once

#include "plan/plan.h"
#include "runtime/extensions.h"

namespace lathe {

/// Nothing to do where plan.isa <= isa. Throws build_no_kernel, told the node.
void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa);

/// Lets a kernel pack the constant inputs of its step; what comes of it is stored with the recipe.
void pack_constants(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel, const void* op);

}  // namespace lathe
