#include "tune/tune_plan.h"

#include <algorithm>

#include "runtime/program.h"

namespace lathe {
namespace {

struct Asked {
  PlanGraph* graph;
  PlanStep* step;
};

/// The tactic that was taken first, the others by what they take.
std::vector<PlanTiming> table_of(const TimingCache::Timings& t, const std::string& taken) {
  std::vector<PlanTiming> table;
  for (const auto& [tactic, time] : t.microseconds) table.push_back({tactic, time});
  std::ranges::stable_sort(table, {},
                           [&](const PlanTiming& x) { return std::pair(x.tactic != taken, x.microseconds); });
  return table;
}

/// Does the plan change?
bool take(const Asked& at, const Tactic& t) {
  PlanStep& step = *at.step;
  if (step.kernel == t.kernel->name && step.tunables == t.tunables) return false;
  if (step.kernel != t.kernel->name)
    for (int32_t v : step.outputs)
      if (v >= 0) at.graph->values[static_cast<size_t>(v)].alias_of = -1;
  step.kernel = t.kernel->name;
  step.tunables = t.tunables;
  return true;
}

/// What the kernels that were taken want packed.
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

/// Why rules of thumb refused what was measured is of no interest any more.
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
  std::vector<Question> questions;
  std::vector<Asked> asked;
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      const Kernel* k = s.kernel.empty() ? nullptr : kernels.by_name(s.kernel);
      if (!k || !s.bodies.empty()) continue;
      const StepRequest request(plan, g, s, plan.isa);
      auto q = tuner.question({k, s.tunables}, s.domain, s.op, s.attributes, request.request(), s.node);
      if (!q || !tuner.is_open(*q)) continue;
      questions.push_back(std::move(*q));
      asked.push_back({&g, &s});
    }
  tuner.answer(questions);
  bool changed = false;
  for (size_t i = 0; i < questions.size(); ++i) {
    const Tactic& best = tuner.choice(questions[i]);
    changed |= take(asked[i], best);
    const TimingCache::Timings* t = tuner.timings(questions[i]);
    if (!t || t->microseconds.size() < 2) continue;
    asked[i].step->timings = table_of(*t, best.text());
    forget_refusals(*asked[i].step);
  }
  if (changed) note_again(plan, kernels, packing);
  return changed;
}

}  // namespace lathe
