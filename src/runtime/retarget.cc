#include "runtime/retarget.h"

#include "runtime/weight_program.h"

namespace lathe {

void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa, int threads,
              const std::shared_ptr<Executor>& executor, RunControl* control) {
  if (plan.target.isa <= isa) return;
  if (!plan.portable)
    throw Error(Code::plan_target, "load", std::string(name_of(plan.target.isa)), std::string(name_of(isa)),
                "build the plan again with its portable section, or for these instructions");
  plan.target.isa = isa;
  Packing packing;
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      if (s.kernel.empty()) continue;
      const Kernel* k = kernels.by_name(s.kernel);
      if (k && k->isa <= isa) continue;
      try {
        choose_again(plan, g, s, kernels, packing);
      } catch (const Error& e) {
        throw e.at("load", s.node, s.op);
      }
    }
  packing.run(plan, threads, executor, control);
  drop_unused_weights(plan);
}

}  // namespace lathe
