// The weight program: how stored arrays are made of others. Every stored array says what it was made of and
// how (WeightRecipe); building, opening a plan on a lesser machine and exchanging weights all go through
// here.
#pragma once

#include "lathe/engine.h"
#include "plan/plan.h"
#include "runtime/packing.h"

namespace lathe {

/// Chooses a CPU kernel again for a step, with plan.isa; what it wants packed is noted in `packing`. Throws
/// build_no_kernel.
void choose_again(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                  Packing& packing);

/// Makes every folded and every packed array anew from the sources as they are now. A kernel that does not
/// want the new contents gives way to another one. Throws plan_malformed where a source has another type or
/// shape than the plan was made for, plan_missing_kernel, cancelled, deadline; the plan is then as it was.
void replay_weights(Plan& plan, const KernelCatalog& kernels, RunControl* control = nullptr, int threads = 1,
                    const std::shared_ptr<Executor>& executor = {});

/// Leaves out the arrays that nothing is made of and nothing reads.
void drop_unused_weights(Plan& plan);

}  // namespace lathe
