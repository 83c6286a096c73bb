#include "runtime/weight_program.h"

#include <algorithm>

#include "kernel/plain_context.h"
#include "kernel/select.h"
#include "runtime/program.h"

namespace lathe {
namespace {

/// The caller's thread alone, which looks whether it should stop.
class OneWorker final : public Workers {
 public:
  explicit OneWorker(RunControl* control) : control_(control) {}
  void parallel(int64_t n, int64_t, FunctionRef<void(int64_t, int64_t)> f) override {
    poll();
    if (n > 0) f(0, n);
  }
  void poll() override {
    if (control_) control_->check();
  }

 private:
  RunControl* control_;
};

/// A folded operator as its reference kernel sees it.
class FoldContext final : public PlainContext {
 public:
  FoldContext(std::vector<const Value*> inputs, std::vector<Output> outputs, RunControl* control)
      : PlainContext(std::move(inputs), std::move(outputs)), control_(control) {}
  void poll() override {
    if (control_) control_->check();
  }

 private:
  RunControl* control_;
};

Value fold(const Plan& plan, const WeightRecipe& r, const KernelCatalog& kernels, RunControl* control) {
  const Kernel* kernel = kernels.reference_of(r.domain, r.op);
  const OpCodec* codec = kernels.codec_of(r.domain, r.op);
  if (!kernel || !codec)
    throw Error(Code::plan_missing_kernel, "load", "a reference kernel", "none",
                "name the plug-in that brings it, or build the plan again");
  std::vector<const Value*> inputs;
  for (uint32_t from : r.from)
    inputs.push_back(from == WeightRecipe::absent ? nullptr : &plan.weights[from].value);
  std::vector<PlainContext::Output> outputs;
  for (DataType t : r.outputs) outputs.push_back({t != DataType::undefined, t});
  FoldContext c(std::move(inputs), std::move(outputs), control);
  c.poll();
  c.run(*kernel, *codec, codec->decode(r.attributes).get());
  return owned(c.results().at(r.output));
}

void replay_folds(Plan& plan, const KernelCatalog& kernels, RunControl* control) {
  for (Weight& w : plan.weights) {
    if (w.recipe.kind != WeightRecipe::Kind::fold) continue;
    try {
      Value made = fold(plan, w.recipe, kernels, control);
      const Tensor &before = w.value.tensor(), &now = made.tensor();
      if (now.type() != before.type() || now.shape() != before.shape())
        throw Error(Code::plan_malformed, "load", describe(before), describe(now),
                    "build the plan again: it was made for weights of other shapes");
      w.value = std::move(made);
    } catch (const Error& e) {
      throw e.at("load", w.name, w.recipe.op);
    }
  }
}

bool has_packed(const PlanStep& s) {
  return std::ranges::any_of(s.packed, [](int32_t w) { return w >= 0; });
}

void replay_packing(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                    RunControl* control) {
  const Kernel* kernel = kernels.by_name(step.kernel);
  const OpCodec* codec = kernels.codec_of(step.domain, step.op);
  if (!kernel || !codec)
    throw Error(Code::plan_missing_kernel, "load", "the kernel " + step.kernel, "none of that name",
                "name the plug-in that brings it, or build the plan again");
  const auto op = decode_for(*kernel, *codec, step.attributes, step.tunables);
  const StepRequest question(plan, graph, step, plan.isa);
  if (kernel->memory != host_memory) return;  // devices read constants as they are
  const bool wanted = !kernel->ask || kernel->ask(op.get(), question.request()).accepted;
  if (!wanted) return choose_again(plan, graph, step, kernels, control);
  if (has_packed(step)) pack_constants(plan, graph, step, *kernel, op.get(), control);
}

bool reads_constants(const PlanGraph& g, const PlanStep& s) {
  return std::ranges::any_of(s.inputs, [&](int32_t v) {
    return v >= 0 && g.values[static_cast<size_t>(v)].role == ValueRole::constant;
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

void pack_constants(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel, const void* op,
                    RunControl* control) {
  const std::vector<int32_t> before = std::exchange(step.packed, {});
  if (!kernel.packed_form) return;
  OneWorker workers(control);
  const StepRequest question(plan, graph, step, plan.isa);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!question.request().inputs[i].constant) continue;
    const std::optional<PackedForm> form = kernel.packed_form(op, question.request(), i);
    if (!form) continue;
    Tensor packed(form->type, form->shape);
    kernel.pack(op, question.request(), i, packed, workers);
    const auto from = static_cast<uint32_t>(graph.values[static_cast<size_t>(step.inputs[i])].weight);
    Weight w{plan.weights[from].name, {}, Value(std::move(packed))};
    w.recipe.kind = WeightRecipe::Kind::pack;
    w.recipe.from = {from};
    w.recipe.op = step.op;
    w.recipe.domain = step.domain;
    w.recipe.kernel = kernel.name;
    w.recipe.attributes = step.attributes;
    w.recipe.output = static_cast<uint32_t>(i);
    step.packed.resize(step.inputs.size(), -1);
    step.packed[i] = i < before.size() ? before[i] : -1;
    if (step.packed[i] >= 0) {
      plan.weights[static_cast<size_t>(step.packed[i])] = std::move(w);
    } else {
      step.packed[i] = static_cast<int32_t>(plan.weights.size());
      plan.weights.push_back(std::move(w));
    }
  }
}

void choose_again(Plan& plan, PlanGraph& graph, PlanStep& step, const KernelCatalog& kernels,
                  RunControl* control) {
  const StepRequest question(plan, graph, step, plan.isa);
  Choice choice = select_kernel(kernels, {.backends = {"cpu"}, .isa = plan.isa}, step.domain, step.op,
                                step.attributes, question.request());
  step.kernel = choice.kernel->name;
  step.tunables.clear();
  step.timings.clear();
  step.refusals = std::move(choice.refusals);
  for (int32_t v : step.outputs)
    if (v >= 0) graph.values[static_cast<size_t>(v)].alias_of = -1;
  pack_constants(plan, graph, step, *choice.kernel, choice.op.get(), control);
}

void replay_weights(Plan& plan, const KernelCatalog& kernels, RunControl* control) {
  Plan made = plan;  // shares the arrays
  replay_folds(made, kernels, control);
  for (PlanGraph& g : made.graphs)
    for (PlanStep& s : g.steps) {
      if (s.kernel.empty() || !reads_constants(g, s)) continue;
      if (control) control->check();
      try {
        replay_packing(made, g, s, kernels, control);
      } catch (const Error& e) {
        throw e.at("load", s.node, s.op);
      }
    }
  drop_unused_weights(made);
  plan = std::move(made);
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
