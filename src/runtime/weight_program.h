// The weight program: how stored arrays are made of others. Every stored array has a recipe with its sources
// (WeightRecipe). Building, opening a plan on a machine with fewer instructions and exchanging weights use
// it.
#pragma once

#include <map>
#include <vector>

#include "lathe/refit.h"
#include "plan/plan.h"
#include "runtime/packing.h"

namespace lathe {

/// Chooses a CPU kernel again for a step, for plan.target; its packed forms are noted in `packing`. Throws
/// build_no_kernel.
void choose_again(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                  Packing& packing);

/// Makes every folded and every packed array again from the present sources. A kernel that does not support
/// the new contents is replaced by another one. Throws plan_malformed if a source has another type or shape
/// than the plan was made for, plan_missing_kernel, cancelled, deadline; the plan is then as it was.
void replay_weights(Plan& plan, const KernelCatalog& kernels, RunControl* control = nullptr, int threads = 1,
                    const std::shared_ptr<Executor>& executor = {});

/// Tensors by index of the source weight.
using ChangedSources = std::map<uint32_t, Tensor>;

struct RefitRequest {
  const KernelCatalog& kernels;
  /// Steps as they were built. Steps that depend on the changes try the kernels that they had there first, so
  /// that an engine with its original weights has its original kernels.
  const std::vector<PlanGraph>& built;
  RunControl* control = nullptr;
  int threads = 1;
  std::shared_ptr<Executor> executor = {};
};

/// Returns the plan with other sources of the same types and shapes. Arrays that do not depend on them are
/// shared with `plan`, which stays as it is. Weights keep their numbers; new ones may be appended. Throws
/// refit_bad_weight with the weight if a folded array gets another shape; run_out_of_memory and as
/// replay_weights.
Plan with_sources(const Plan& plan, const ChangedSources& sources, const RefitRequest& request,
                  RefitReport& report);

/// Returns the plan with all of its arrays: those that were released after packing are folded again. Throws
/// cancelled, deadline.
Plan with_folded(const Plan& plan, const KernelCatalog& kernels, RunControl* control = nullptr);

/// Removes arrays that are neither read nor sources of others.
void drop_unused_weights(Plan& plan);

}  // namespace lathe
