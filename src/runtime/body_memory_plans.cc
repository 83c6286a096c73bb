#include "runtime/body_memory_plans.h"

namespace lathe {

SymbolSizes symbol_sizes(const Program& program, const MemoryPlan& main) {
  SymbolSizes sizes;
  for (const Plan::Symbol& s : program.plan().symbols) {
    const Slot& slot = main.slots[program.graph(0).plan->inputs[s.input]];
    if (s.axis < slot.shape.size()) sizes[s.name] = slot.shape[s.axis];
  }
  return sizes;
}

std::optional<Shape> declared_shape(const PlanType& type, const SymbolSizes& sizes) {
  if (!type.is_tensor() || !type.shape) return std::nullopt;
  Shape shape;
  for (const Dim& d : *type.shape) {
    const auto n = d.evaluate(sizes);
    if (!n || *n < 0) return std::nullopt;
    shape.push_back(*n);
  }
  return shape;
}

namespace {

/// The key of a body: its inputs and captured values. Tensors of unknown shape are entered as non-tensors
/// are.
ShapeKey key_of(const Program& program, const PlanBody& b, const MemoryPlan& outer,
                const SymbolSizes& sizes) {
  const ProgramGraph& inner = program.graph(b.graph);
  ShapeKey key;
  const auto enter = [&](uint32_t v, const std::optional<Shape>& shape) {
    if (shape && inner.plan->values[v].type.is_tensor())
      append_to_key(key, *shape);
    else
      key.push_back(-1);
  };
  for (uint32_t v : inner.plan->inputs) enter(v, declared_shape(inner.plan->values[v].type, sizes));
  for (uint32_t v : inner.captured)
    for (auto [from, to] : b.captures)
      if (to == v) enter(v, outer.slots[from].known ? std::optional(outer.slots[from].shape) : std::nullopt);
  return key;
}

}  // namespace

std::vector<std::optional<MemoryPlan>> memory_plans_of_all(const Program& program, MemoryPlan main) {
  const SymbolSizes sizes = symbol_sizes(program, main);
  std::vector<std::optional<MemoryPlan>> all(program.plan().graphs.size());
  all[0] = std::move(main);
  std::vector<size_t> todo{0};
  while (!todo.empty()) {
    const size_t g = todo.back();
    todo.pop_back();
    for (const ProgramStep& step : program.graph(g).steps)
      for (const PlanBody& b : step.plan->bodies) {
        try {
          all[b.graph] = plan_memory(program, b.graph, key_of(program, b, *all[g], sizes));
        } catch (const Error&) {  // of a branch that no run with these shapes takes
          continue;
        }
        todo.push_back(b.graph);
      }
  }
  return all;
}

}  // namespace lathe
