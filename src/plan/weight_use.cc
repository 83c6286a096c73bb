#include "plan/weight_use.h"

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

}  // namespace lathe
