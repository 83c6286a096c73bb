#include "compiler/weights.h"

#include <ranges>

namespace lathe {

const std::string& source_of(const Graph& graph, ValueId v) {
  const Graph* g = &graph;
  for (; g->value(v).captured != no_id; g = g->parent()) v = g->value(v).captured;
  return g->value(v).source;
}

uint32_t WeightTable::add(const std::shared_ptr<const Value>& constant, const std::string& name,
                          const std::string& source) {
  // A list, not recursion: a file may hold a chain of constants as long as it likes.
  std::vector<Fold::Operand> open{{constant, name, source}};
  while (!open.empty()) {
    const Fold::Operand next = open.back();
    const auto fold = folds_.find(next.constant.get());
    const size_t before = open.size();
    if (fold != folds_.end() && !index_.contains(next.constant.get()))
      for (const Fold::Operand& o : fold->second.from | std::views::reverse)
        if (o.constant && !index_.contains(o.constant.get())) open.push_back(o);
    if (open.size() > before) continue;  // its operands come first
    open.pop_back();
    if (!index_.contains(next.constant.get())) append(next, fold == folds_.end() ? nullptr : &fold->second);
  }
  return index_.at(constant.get());
}

/// The constants that `made` was folded from have their indices already.
void WeightTable::append(const Fold::Operand& made, const Fold* fold) {
  Weight w{made.name, {}, *made.constant};
  if (!fold) {
    w.recipe.source = made.source;
  } else {
    w.recipe.kind = WeightRecipe::Kind::fold;
    w.recipe.op = fold->op;
    w.recipe.domain = fold->domain;
    w.recipe.attributes = fold->attributes;
    w.recipe.outputs = fold->outputs;
    w.recipe.output = fold->output;
    for (const Fold::Operand& o : fold->from)
      w.recipe.from.push_back(o.constant ? index_.at(o.constant.get()) : WeightRecipe::absent);
  }
  index_[made.constant.get()] = static_cast<uint32_t>(weights_.size());
  weights_.push_back(std::move(w));
}

}  // namespace lathe
