// The uses of a plan's stored arrays: by runs, or only when arrays are packed and folded again.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace lathe {

/// Calls f(step, input, weight) for every stored array that a run reads: packed forms, and constants as they
/// are unless a packed form replaces them. `step` is null for arrays that are not inputs of steps, but
/// operands of an epilogue, captured, tapped, defaults or outputs. Indices that are out of range are ignored.
template <class F>
void each_read(const Plan& plan, F&& f) {
  const auto note = [&](const PlanStep* s, size_t i, int64_t w) {
    if (w >= 0 && static_cast<uint64_t>(w) < plan.weights.size()) f(s, i, static_cast<uint32_t>(w));
  };
  for (size_t index = 0; index < plan.graphs.size(); ++index) {
    const PlanGraph& g = plan.graphs[index];
    const auto read = [&](const PlanStep* s, size_t i, int64_t v) {
      if (v >= 0 && static_cast<uint64_t>(v) < g.values.size())
        note(s, i, g.values[static_cast<size_t>(v)].weight);
    };
    for (const PlanStep& s : g.steps) {
      for (size_t i = 0; i < s.inputs.size(); ++i)
        if (i < s.packed.size() && s.packed[i] >= 0)
          note(&s, i, s.packed[i]);
        else
          read(&s, i, s.inputs[i]);
      if (s.epilogue)
        for (int32_t v : s.epilogue->operands) read(nullptr, 0, v);
      for (const PlanBody& b : s.bodies)
        for (const auto& [outer, inner] : b.captures) read(nullptr, 0, outer);
    }
    for (uint32_t v : g.inputs) read(nullptr, 0, v);
    for (uint32_t v : g.outputs) read(nullptr, 0, v);
    for (const Plan::Tap& t : plan.taps)
      if (t.graph == index) read(nullptr, 0, t.value);
  }
}

/// The part of a plan's file that an array belongs to.
enum class ArraySection : uint8_t {
  native,    // read by runs
  portable,  // packed arrays were made of it
  source     // others were folded from it: wanted only when weights are exchanged
};
/// Returns the section by weight.
std::vector<ArraySection> array_sections(const Plan& plan);

/// Returns by weight whether it is folded from arrays that are stored or can be folded again themselves.
std::vector<bool> can_be_folded(const Plan& plan);

}  // namespace lathe
