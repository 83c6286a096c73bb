// A plan built for wider instructions than this machine has (or may use): its kernels are chosen again, and
// what the old ones had packed is packed anew from its sources (weight_program.h).
#pragma once

#include "lathe/executor.h"
#include "lathe/run_control.h"
#include "plan/plan.h"
#include "runtime/extensions.h"

namespace lathe {

/// Nothing to do where plan.isa <= isa. Throws plan_target where the plan was saved without its portable
/// section, build_no_kernel, told the node; run_out_of_memory, cancelled, deadline.
void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa, int threads = 1,
              const std::shared_ptr<Executor>& executor = {}, RunControl* control = nullptr);

}  // namespace lathe
