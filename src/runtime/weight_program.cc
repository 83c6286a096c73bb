#include "runtime/weight_program.h"

#include <algorithm>

#include "kernel/host_context.h"
#include "kernel/select.h"
#include "plan/weight_use.h"
#include "runtime/program.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

/// A folded operator as its reference kernel sees it.
class FoldContext final : public HostContext {
 public:
  FoldContext(std::vector<const Value*> inputs, std::vector<Output> outputs, RunControl* control)
      : HostContext(std::move(inputs), std::move(outputs)), control_(control) {}
  void poll() override {
    if (control_) control_->check();
  }

 private:
  RunControl* control_;
};

/// By weight: true if it must be made again.
using Stale = std::vector<bool>;

Value fold(const Plan& plan, const WeightRecipe& r, const KernelCatalog& kernels, RunControl* control) {
  const Kernel* kernel = kernels.reference_of(r.domain, r.op);
  const OpCodec* codec = kernels.codec_of(r.domain, r.op);
  if (!kernel || !codec)
    throw Error(Code::plan_missing_kernel, "load", "a reference kernel", "none",
                "name the plug-in that brings it, or build the plan again");
  std::vector<Value> operands;
  for (uint32_t from : r.from)
    if (from != WeightRecipe::absent && !plan.weights[from].stored)
      throw Error(Code::plan_target, "load", "the sources of all arrays",
                  "a plan without " + plan.weights[from].name, "build the plan again with refit");
  for (uint32_t from : r.from)
    operands.push_back(from == WeightRecipe::absent ? Value()
                                                    : Value(aligned(plan.weights[from].value.tensor())));
  std::vector<const Value*> inputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(r.from[i] == WeightRecipe::absent ? nullptr : &operands[i]);
  std::vector<HostContext::Output> outputs;
  for (DataType t : r.outputs) outputs.push_back({t != DataType::undefined, t});
  FoldContext c(std::move(inputs), std::move(outputs), control);
  c.poll();
  c.run(*kernel, *codec, codec->decode(r.attributes).get());
  return owned(c.results().at(r.output));
}

bool is_made_of(const WeightRecipe& r, const Stale& stale) {
  return std::ranges::any_of(r.from, [&](uint32_t w) { return w != WeightRecipe::absent && stale[w]; });
}

/// Folds again every array that is made of stale ones, and marks it as stale. Its sources come before it.
void replay_folds(Plan& plan, const KernelCatalog& kernels, RunControl* control, Stale& stale, Code misfit) {
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    Weight& w = plan.weights[i];
    if (w.recipe.kind != WeightRecipe::Kind::fold || !is_made_of(w.recipe, stale)) continue;
    try {
      Value made = fold(plan, w.recipe, kernels, control);
      const Tensor &before = w.value.tensor(), &now = made.tensor();
      if (now.type() != before.type() || now.shape() != before.shape())
        throw Error(misfit, "load", describe(before), describe(now),
                    "build the plan again: it was made for weights of other shapes");
      w.value = std::move(made);
      w.stored = true;
      stale[i] = true;
    } catch (const Error& e) {
      throw e.at("load", w.name, w.recipe.op);
    }
  }
}

void replay_packing(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                    Packing& packing, const Stale* stale) {
  const Kernel* kernel = kernels.by_name(step.kernel);
  const OpCodec* codec = kernels.codec_of(step.domain, step.op);
  if (!kernel || !codec)
    throw Error(Code::plan_missing_kernel, "load", "the kernel " + step.kernel, "none of that name",
                "name the plug-in that brings it, or build the plan again");
  auto op = decode_for(*kernel, *codec, step.attributes, step.tunables);
  const StepQuery query(plan, graph, step);
  if (kernel->memory != host_memory) return;  // devices read constants as they are
  const bool wanted = !kernel->supports || kernel->supports(op.get(), query.kernel_query()).accepted;
  if (!wanted) return choose_again(plan, graph, step, kernels, packing);
  packing.add(plan, graph, step, *kernel, std::move(op), stale);
}

bool reads(const PlanGraph& g, const PlanStep& s, const Stale& stale) {
  return std::ranges::any_of(s.inputs, [&](int32_t v) {
    if (v < 0) return false;
    const PlanValue& value = g.values[static_cast<size_t>(v)];
    return value.role == ValueRole::constant && stale[static_cast<size_t>(value.weight)];
  });
}

/// The step as it was built, before other weights made it choose another kernel; was it another?
bool restore(PlanGraph& g, size_t step, const PlanGraph& built) {
  const PlanStep &now = g.steps[step], &then = built.steps[step];
  if (now.kernel == then.kernel && now.tunables == then.tunables) return false;
  g.steps[step] = then;
  for (int32_t v : then.outputs)
    if (v >= 0) g.values[static_cast<size_t>(v)].alias_of = built.values[static_cast<size_t>(v)].alias_of;
  return true;
}

/// Packs stale arrays again for the steps that read them; without `built`, all arrays that those steps read.
void replay_packing(Plan& plan, const KernelCatalog& kernels, RunControl* control, const Stale& stale,
                    const std::vector<PlanGraph>* built, Packing& packing) {
  for (size_t i = 0; i < plan.graphs.size(); ++i) {
    PlanGraph& g = plan.graphs[i];
    for (size_t k = 0; k < g.steps.size(); ++k) {
      if (g.steps[k].kernel.empty() || !reads(g, g.steps[k], stale)) continue;
      if (control) control->check();
      const bool other = !built || restore(g, k, (*built)[i]);
      PlanStep& s = g.steps[k];
      try {
        replay_packing(plan, g, s, kernels, packing, other ? nullptr : &stale);
      } catch (const Error& e) {
        throw e.at("load", s.node, s.op);
      }
    }
  }
}

/// Runs read elements of any type but bytes at addresses that are multiples of their size.
void align_read(Plan& plan, const ChangedSources& sources) {
  each_read(plan, [&](const PlanStep*, size_t, uint32_t w) {
    if (sources.contains(w)) plan.weights[w].value = aligned(plan.weights[w].value.tensor());
  });
}

/// Calls f for every place in the plan that names a weight which is read when it runs.
template <class F>
void each_reader(Plan& plan, F&& f) {
  for (PlanGraph& g : plan.graphs) {
    for (PlanValue& v : g.values)
      if (v.weight >= 0) f(v.weight);
    for (PlanStep& s : g.steps)
      for (int32_t& w : s.packed)
        if (w >= 0) f(w);
  }
}

}  // namespace

void choose_again(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                  Packing& packing) {
  const StepQuery query(plan, graph, step);
  Choice choice = select_kernel(kernels, {.backends = {"cpu"}, .isa = plan.target.isa}, step.domain, step.op,
                                step.attributes, query.kernel_query());
  step.kernel = choice.kernel->name;
  step.tunables.clear();
  step.timings.clear();
  step.refusals = std::move(choice.refusals);
  for (int32_t v : step.outputs)
    if (v >= 0) graph.values[static_cast<size_t>(v)].alias_of = -1;
  packing.add(plan, graph, step, *choice.kernel, std::move(choice.op));
}

void replay_weights(Plan& plan, const KernelCatalog& kernels, RunControl* control, int threads,
                    const std::shared_ptr<Executor>& executor) {
  Plan made = plan;  // shares the arrays
  Stale stale(made.weights.size(), true);
  replay_folds(made, kernels, control, stale, Code::plan_malformed);
  Packing packing;
  replay_packing(made, kernels, control, stale, nullptr, packing);
  packing.run(made, threads, executor, control);
  drop_unused_weights(made);
  plan = std::move(made);
}

Plan with_sources(const Plan& plan, const ChangedSources& sources, const RefitRequest& request,
                  RefitReport& report) {
  Plan made = with_folded(plan, request.kernels, request.control);
  std::vector<const void*> before;
  for (const Weight& w : made.weights) before.push_back(w.value.tensor().data());
  Stale stale(made.weights.size(), false);
  for (const auto& [w, tensor] : sources) {
    made.weights[w].value = tensor;
    stale[w] = true;
  }
  replay_folds(made, request.kernels, request.control, stale, Code::refit_bad_weight);
  Packing packing;
  replay_packing(made, request.kernels, request.control, stale, &request.built, packing);
  packing.run(made, request.threads, request.executor, request.control);
  align_read(made, sources);
  for (size_t i = 0; i < made.weights.size(); ++i) {
    const Weight& w = made.weights[i];
    if (i < before.size() && w.value.tensor().data() == before[i]) continue;
    const auto kind = w.recipe.kind;
    ++(kind == WeightRecipe::Kind::source ? report.weights
       : kind == WeightRecipe::Kind::fold ? report.folded
                                          : report.packed);
    report.bytes += w.value.tensor().bytes();
  }
  return made;
}

Plan with_folded(const Plan& plan, const KernelCatalog& kernels, RunControl* control) {
  Plan made = plan;  // shares the arrays
  const std::vector<bool> can = can_be_folded(plan);
  for (size_t i = 0; i < can.size(); ++i) {
    Weight& w = made.weights[i];
    if (w.stored || !can[i]) continue;
    w.value = fold(made, w.recipe, kernels, control);
    w.stored = true;
  }
  return made;
}

void drop_unused_weights(Plan& plan) {
  std::vector<bool> used(plan.weights.size());
  each_reader(plan, [&](int32_t& w) { used[static_cast<size_t>(w)] = true; });
  for (size_t i = used.size(); i-- > 0;)  // made of earlier ones only
    if (used[i])
      for (uint32_t from : plan.weights[i].recipe.from)
        if (from != WeightRecipe::absent) used[from] = true;
  std::vector<uint32_t> renamed(used.size());
  std::deque<Weight> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    renamed[i] = static_cast<uint32_t>(kept.size());
    Weight& w = kept.emplace_back(std::move(plan.weights[i]));
    for (uint32_t& from : w.recipe.from)
      if (from != WeightRecipe::absent) from = renamed[from];
  }
  plan.weights = std::move(kept);
  each_reader(plan, [&](int32_t& w) { w = static_cast<int32_t>(renamed[static_cast<size_t>(w)]); });
}

}  // namespace lathe
