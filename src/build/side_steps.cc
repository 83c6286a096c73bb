#include "build/side_steps.h"

#include <algorithm>

#include "base/glob.h"

namespace lathe {
namespace {

bool exists(const Graph& g, ValueId v) {
  const ValueInfo& info = g.value(v);
  return info.producer != no_id || info.constant || info.is_input;
}

/// Adds what makes `v`, which has the id it had before: values that the optimiser kept mean what they did.
void restore_value(Graph& g, const Graph& before, ValueId v) {
  // Depth first without recursion: models are deep.
  std::vector<ValueId> waiting{v};
  while (!waiting.empty()) {
    const ValueId next = waiting.back();
    if (exists(g, next)) {
      waiting.pop_back();
      continue;
    }
    Node n = before.node(before.value(next).producer);
    std::vector<ValueId> missing;
    auto need = [&](ValueId read) {
      if (read != no_id && !exists(g, read)) missing.push_back(read);
    };
    for (ValueId read : n.inputs) need(read);
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) need(b.graph->value(c).captured);
    if (!missing.empty()) {
      waiting.insert(waiting.end(), missing.begin(), missing.end());
      continue;
    }
    for (ValueId& made : n.outputs)
      if (made != no_id && exists(g, made))
        made = g.add_value(g.fresh_name(g.value(made).name), g.value(made).type);
    for (Body& b : n.bodies) b.graph = b.graph->clone(&g);
    g.add_node(std::move(n));
    waiting.pop_back();
  }
}

}  // namespace

Tapped::Tapped(const Graph& g, const std::vector<std::string>& patterns) {
  for (ValueId v = 0; v < g.value_count() && !patterns.empty(); ++v)
    if (exists(g, v) &&
        std::ranges::any_of(patterns, [&](const std::string& p) { return glob_match(p, g.value(v).name); }))
      values_.push_back(v);
  if (!values_.empty()) before_ = g.clone();
}

std::vector<ValueId> Tapped::restore(Graph& g) const {
  std::vector<ValueId> list;
  for (ValueId v : values_) {
    // The name may have gone over to what took the value's place.
    const ValueId named = g.find_value(before_->value(v).name);
    if (named != no_id && exists(g, named)) {
      list.push_back(named);
      continue;
    }
    restore_value(g, *before_, v);
    list.push_back(v);
  }
  return list;
}

}  // namespace lathe
