// The weight program: how stored arrays are made of others. Every stored array says what it was made of and
// how (WeightRecipe); building, opening a plan on a lesser machine and exchanging weights all go through
// here.
#pragma once

#include <map>
#include <vector>

#include "lathe/refit.h"
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

/// Tensors by index of the source weight.
using ChangedSources = std::map<uint32_t, Tensor>;

struct RefitRequest {
  const KernelCatalog& kernels;
  /// Steps as they were built. What depends on the changes asks the kernels that it had there first, so that
  /// an engine is again what it was when its weights are.
  const std::vector<PlanGraph>& built;
  RunControl* control = nullptr;
  int threads = 1;
  std::shared_ptr<Executor> executor = {};
};

/// The plan with other sources of the same types and shapes. What does not depend on them is shared with
/// `plan`, which stays as it is. Weights keep their numbers; new ones may come behind. Throws
/// refit_bad_weight where what is folded gets another shape, told the weight; run_out_of_memory and as
/// replay_weights.
Plan with_sources(const Plan& plan, const ChangedSources& sources, const RefitRequest& request,
                  RefitReport& report);

/// The plan with all of its arrays: what was let go of after packing is folded again. Throws cancelled,
/// deadline.
Plan with_folded(const Plan& plan, const KernelCatalog& kernels, RunControl* control = nullptr);

/// Leaves out the arrays that nothing is made of and nothing reads.
void drop_unused_weights(Plan& plan);

}  // namespace lathe
