// Adapts a plan that was built for wider instructions than this machine has (or may use): its kernels are
// chosen again, and weights are packed again from their sources (weight_program.h).
#pragma once

#include "lathe/executor.h"
#include "lathe/run_control.h"
#include "plan/plan.h"
#include "runtime/extensions.h"

namespace lathe {

/// Chooses and packs for kernels of `isa`; does nothing if plan.target.isa <= isa. Throws plan_target if the
/// plan was saved without its portable section, build_no_kernel with the node, run_out_of_memory, cancelled,
/// deadline.
void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa, int threads = 1,
              const std::shared_ptr<Executor>& executor = {}, RunControl* control = nullptr);

}  // namespace lathe
