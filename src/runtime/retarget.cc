#include "runtime/retarget.h"

#include "runtime/weight_program.h"

namespace lathe {

void retarget(Plan& plan, const KernelCatalog& kernels, Isa isa) {
  if (plan.isa <= isa) return;
  plan.isa = isa;
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      if (s.kernel.empty()) continue;
      const Kernel* k = kernels.by_name(s.kernel);
      if (k && k->isa <= isa) continue;
      try {
        choose_again(plan, g, s, kernels);
      } catch (const Error& e) {
        throw e.at("load", s.node, s.op);
      }
    }
  drop_unused_weights(plan);
}

}  // namespace lathe
