#include "plan/weight_use.h"

#include <algorithm>

namespace lathe {

std::vector<ArraySection> array_sections(const Plan& plan) {
  std::vector<ArraySection> sections(plan.weights.size(), ArraySection::source);
  for (const Weight& w : plan.weights)
    if (w.recipe.kind == WeightRecipe::Kind::pack)
      for (uint32_t from : w.recipe.from)
        if (from < sections.size()) sections[from] = ArraySection::portable;
  each_read(plan, [&](const PlanStep*, size_t, uint32_t w) { sections[w] = ArraySection::native; });
  return sections;
}

std::vector<bool> can_be_folded(const Plan& plan) {
  std::vector<bool> can(plan.weights.size());
  for (size_t i = 0; i < can.size(); ++i) {  // made of earlier ones only
    const WeightRecipe& r = plan.weights[i].recipe;
    can[i] =
        r.kind == WeightRecipe::Kind::fold && std::ranges::all_of(r.from, [&](uint32_t from) {
          if (from == WeightRecipe::absent || can[from]) return true;
          return plan.weights[from].recipe.kind == WeightRecipe::Kind::source && plan.weights[from].stored;
        });
  }
  return can;
}

}  // namespace lathe
