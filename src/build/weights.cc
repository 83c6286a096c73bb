#include "build/weights.h"

namespace lathe {

const std::string& source_of(const Graph& graph, ValueId v) {
  const Graph* g = &graph;
  for (; g->value(v).captured != no_id; g = g->parent()) v = g->value(v).captured;
  return g->value(v).source;
}

uint32_t WeightTable::add(const std::shared_ptr<const Value>& constant, const std::string& name,
                          const std::string& source) {
  if (const auto known = index_.find(constant.get()); known != index_.end()) return known->second;
  Weight w{name, {}, *constant};
  const auto fold = folds_.find(constant.get());
  if (fold == folds_.end()) {
    w.recipe.source = source;
  } else {
    w.recipe.kind = WeightRecipe::Kind::fold;
    w.recipe.op = fold->second.op;
    w.recipe.domain = fold->second.domain;
    w.recipe.attributes = fold->second.attributes;
    w.recipe.outputs = fold->second.outputs;
    w.recipe.output = fold->second.output;
    for (const Fold::Operand& o : fold->second.from)
      w.recipe.from.push_back(o.constant ? add(o.constant, o.name, o.source) : WeightRecipe::absent);
  }
  weights_.push_back(std::move(w));
  return index_[constant.get()] = static_cast<uint32_t>(weights_.size() - 1);
}

}  // namespace lathe
