#include "runtime/retarget.h"

#include "kernel/select.h"
#include "runtime/program.h"

namespace lathe {
namespace {

void choose_again(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels) {
  const StepRequest question(plan, graph, step, plan.isa);
  Choice choice = select_kernel(kernels, {.backends = {"cpu"}, .isa = plan.isa}, step.domain, step.op,
                                step.attributes, question.request());
  step.kernel = choice.kernel->name;
  step.tunables = std::move(choice.verdict.tunables);
  step.refusals = std::move(choice.refusals);
  step.packed.clear();
  for (int32_t v : step.outputs)
    if (v >= 0) graph.values[static_cast<size_t>(v)].alias_of = -1;
  pack_constants(plan, graph, step, *choice.kernel, choice.op.get());
}

}  // namespace

void pack_constants(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel,
                    const void* op) {
  if (!kernel.pack) return;
  const StepRequest question(plan, graph, step, plan.isa);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!question.request().inputs[i].constant) continue;
    std::optional<Tensor> packed = kernel.pack(op, question.request(), i);
    if (!packed) continue;
    const auto from = static_cast<uint32_t>(graph.values[static_cast<size_t>(step.inputs[i])].weight);
    Weight w{plan.weights[from].name, {}, Value(std::move(*packed))};
    w.recipe.kind = WeightRecipe::Kind::pack;
    w.recipe.from = {from};
    w.recipe.op = step.op;
    w.recipe.domain = step.domain;
    w.recipe.kernel = kernel.name;
    w.recipe.attributes = step.attributes;
    w.recipe.output = static_cast<uint32_t>(i);
    step.packed.resize(step.inputs.size(), -1);
    step.packed[i] = static_cast<int32_t>(plan.weights.size());
    plan.weights.push_back(std::move(w));
  }
}

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
}

}  // namespace lathe
