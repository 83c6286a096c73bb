#include "tune/tune_plan.h"

#include <algorithm>

#include "runtime/program.h"

namespace lathe {
namespace {

struct TunedStep {
  PlanGraph* graph;
  PlanStep* step;
};

/// Returns the chosen tactic first, then the others by their times.
std::vector<PlanTiming> table_of(const TimingCache::Timings& t, const std::string& taken) {
  std::vector<PlanTiming> table;
  for (const auto& [tactic, time] : t.microseconds) table.push_back({tactic, time});
  std::ranges::stable_sort(table, {},
                           [&](const PlanTiming& x) { return std::pair(x.tactic != taken, x.microseconds); });
  return table;
}

/// Uses the tactic for the step, and returns whether that changes the plan.
bool take(const TunedStep& at, const Tactic& t) {
  PlanStep& step = *at.step;
  if (step.kernel == t.kernel->name && step.tunables == t.tunables) return false;
  if (step.kernel != t.kernel->name)
    for (int32_t v : step.outputs)
      if (v >= 0) at.graph->values[static_cast<size_t>(v)].alias_of = -1;
  step.kernel = t.kernel->name;
  step.tunables = t.tunables;
  return true;
}

/// Notes again the constants that have to be packed, for the chosen kernels.
void note_again(Plan& plan, const KernelCatalog& kernels, Packing& packing) {
  packing = {};
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      const Kernel* k = s.kernel.empty() ? nullptr : kernels.by_name(s.kernel);
      if (!k || k->memory != host_memory) continue;
      packing.add(plan, g, s, *k,
                  decode_for(*k, *kernels.codec_of(s.domain, s.op), s.attributes, s.tunables));
    }
}

/// Removes the reasons of rules of thumb against kernels that were timed.
void forget_refusals(PlanStep& step) {
  std::erase_if(step.refusals, [&](const std::string& refusal) {
    const std::string_view kernel = std::string_view(refusal).substr(0, refusal.find(':'));
    return std::ranges::any_of(step.timings, [&](const PlanTiming& t) {
      return std::string_view(t.tactic).substr(0, t.tactic.find(' ')) == kernel;
    });
  });
}

}  // namespace

bool tune_plan(Plan& plan, Tuner& tuner, const KernelCatalog& kernels, Packing& packing) {
  std::vector<TuningTask> tasks;
  std::vector<TunedStep> tuned;
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      const Kernel* k = s.kernel.empty() ? nullptr : kernels.by_name(s.kernel);
      if (!k || !s.bodies.empty()) continue;
      const StepQuery query(plan, g, s);
      auto q = tuner.task({k, s.tunables}, s.domain, s.op, s.attributes, query.kernel_query(), s.node);
      if (!q || !tuner.is_open(*q)) continue;
      tasks.push_back(std::move(*q));
      tuned.push_back({&g, &s});
    }
  tuner.measure_all(tasks);
  bool changed = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Tactic& best = tuner.choice(tasks[i]);
    changed |= take(tuned[i], best);
    const TimingCache::Timings* t = tuner.timings(tasks[i]);
    if (!t || t->microseconds.size() < 2) continue;
    tuned[i].step->timings = table_of(*t, best.text());
    forget_refusals(*tuned[i].step);
  }
  if (changed) note_again(plan, kernels, packing);
  return changed;
}

}  // namespace lathe
