#include "compiler/lower.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <span>

#include "compiler/graph_lowering.h"
#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "compiler/states.h"

namespace lathe {

uint32_t Lowering::graph(const Graph& g, std::vector<std::pair<ValueId, uint32_t>>& captures) {
  const auto index = static_cast<uint32_t>(plan.graphs.size());
  plan.graphs.emplace_back();  // bodies come after the graph they are in
  GraphLowering lowering(*this, g);
  PlanGraph made = lowering.run();
  for (ValueId v : g.captures())
    if (!g.value(v).constant) captures.emplace_back(g.value(v).captured, lowering.value_in(v, host_memory));
  for (ValueId v : taps_of(g))
    plan.taps.push_back({g.value(v).name, index, lowering.value_in(v, host_memory)});
  plan.graphs[index] = std::move(made);
  return index;
}

PlanGraph GraphLowering::run() {
  for (ValueId v : graph_.inputs()) made_.inputs.push_back(add_value(v, ValueRole::input, host_memory));
  for (ValueId v : graph_.captures())
    if (!is_constant(v)) add_value(v, ValueRole::captured, host_memory);
  // Nodes that are computed for taps alone come last: they may read values that the main path has fused.
  std::vector<NodeId> order = live_nodes(false);
  const std::set<NodeId> main(order.begin(), order.end());
  std::ranges::copy_if(live_nodes(true), std::back_inserter(order),
                       [&](NodeId id) { return !main.contains(id); });
  if (all_.search.fuse && all_.preference.fuse && all_.target && all_.target->fusion) {
    find_regions(std::span(order).first(main.size()), std::span(order).subspan(main.size()));
    find_averaged(std::span(order).first(main.size()));
  }
  for (NodeId id : order) {
    if (all_.control) all_.control->check();
    if (regions_.is_fused(id)) continue;
    try {
      if (const Region* r = regions_.ending_at(id))
        lower(*r);
      else
        lower(id);
    } catch (const Error& e) {
      throw e.at("build", graph_.node(id).name, graph_.node(id).op);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const uint32_t v = value_in(graph_.outputs()[i], host_memory);
    const int32_t state = made_.values[v].state;
    const bool is_new = state >= 0 && all_.plan.states[static_cast<size_t>(state)].output == i;
    made_.outputs.push_back(is_new ? v : dense(v));
  }
  for (ValueId v : all_.taps_of(graph_)) value_in(v, host_memory);
  return std::move(made_);
}

bool GraphLowering::is_tapped_inside(const Node& n) const {
  return std::ranges::any_of(n.bodies, [&](const Body& b) {
    if (!all_.taps_of(*b.graph).empty()) return true;
    const std::vector<NodeId> inner = b.graph->order();
    return std::ranges::any_of(inner, [&](NodeId id) { return is_tapped_inside(b.graph->node(id)); });
  });
}

/// The live nodes in order: those that the graph's outputs need or, with taps, that taps need as well.
std::vector<NodeId> GraphLowering::live_nodes(bool with_taps) const {
  std::vector<bool> live = outputs_of(graph_);
  if (with_taps)
    for (ValueId v : all_.taps_of(graph_)) live[v] = true;
  return makers_of(graph_, std::move(live), [&](const Node& n) { return with_taps && is_tapped_inside(n); });
}

void GraphLowering::lower(NodeId id) {
  const Node& n = graph_.node(id);
  PlanStep step = describe(n, n.outputs);
  add_row_means(n, n.outputs, step);
  step.unfused = reasons(id, id);
  const Choice choice = choose(step, is_by_reference(id));
  const bool is_dense = !has_growing(step);
  const MemorySpace space = all_.space_of(*choice.kernel);
  if (!row_means_for(n))
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_id) {
        const uint32_t in = value_in(n.inputs[i], space);
        step.inputs[i] = static_cast<int32_t>(is_dense ? dense(in) : in);
      }
  add_bodies(n, step);
  if (space == host_memory) all_.packing.add(all_.plan, made_, step, *choice.kernel, choice.op);
  place_outputs(n.outputs, space, step);
  share_memory(n, *choice.kernel, step);
  add(std::move(step));
}

void GraphLowering::add(PlanStep step) {
  made_.steps.push_back(std::move(step));
  for (PlanStep& s : std::exchange(after_, {})) {
    choose_as_it_is(s, false);
    made_.steps.push_back(std::move(s));
  }
}

/// If no kernel takes the states that a node reads or makes, it reads dense copies and makes dense tensors.
Choice GraphLowering::choose(PlanStep& step, bool by_reference) {
  if (has_growing(step)) {
    try {
      return choose_as_it_is(step, by_reference);
    } catch (const Error& e) {
      if (e.code() != Code::build_no_kernel) throw;
      make_dense(step);
    }
  }
  return choose_as_it_is(step, by_reference);
}

Choice GraphLowering::choose_as_it_is(PlanStep& step, bool by_reference) const {
  const StepQuery query(all_.plan, made_, step);
  Preference preference = all_.preference;
  if (by_reference) preference.backends = {"reference"};
  Choice choice =
      select_kernel(all_.kernels, preference, step.domain, step.op, step.attributes, query.kernel_query());
  step.kernel = choice.kernel->name;
  step.refusals = std::move(choice.refusals);
  return choice;
}

/// The step as kernels are queried for it. The memory spaces of its operands follow from the kernel.
PlanStep GraphLowering::describe(const Node& n, const std::vector<ValueId>& outputs) {
  PlanStep s;
  s.op = n.op;
  s.domain = n.domain;
  s.node = n.name;
  s.origin = n.origin;
  if (s.origin.empty() && !n.name.empty()) s.origin.push_back(n.name);
  s.attributes = n.attributes;
  for (ValueId v : n.inputs) s.inputs.push_back(v == no_id ? -1 : static_cast<int32_t>(value_anywhere(v)));
  if (const auto means = row_means_for(n)) s.inputs = {static_cast<int32_t>(*means)};
  for (ValueId v : outputs)
    s.outputs.push_back(v == no_id ? -1
                                   : static_cast<int32_t>(add_value(v, ValueRole::computed, host_memory)));
  return s;
}

void GraphLowering::add_bodies(const Node& n, PlanStep& step) {
  for (const Body& b : n.bodies) {
    std::vector<std::pair<ValueId, uint32_t>> captures;
    PlanBody body{b.name, all_.graph(*b.graph, captures), {}};
    for (auto [outer, inner] : captures) body.captures.emplace_back(dense_in(outer, host_memory), inner);
    step.bodies.push_back(std::move(body));
  }
}

namespace {

/// Returns the inputs and axes that the sizes of the symbols are read from.
std::vector<Plan::Symbol> symbols_of(const PlanGraph& main) {
  std::vector<Plan::Symbol> list;
  for (uint32_t i = 0; i < main.inputs.size(); ++i) {
    const PlanType& type = main.values[main.inputs[i]].type;
    if (!type.shape) continue;
    for (uint32_t axis = 0; axis < type.shape->size(); ++axis) {
      const Dim& d = (*type.shape)[axis];
      const auto name = d.symbol_name();
      if (name && !d.has_unknown() &&
          std::ranges::none_of(list, [&](const auto& s) { return s.name == *name; }))
        list.push_back({*name, i, axis});
    }
  }
  return list;
}

}  // namespace

Plan lower(const Graph& graph, const Folds& folds, const TappedValues& taps, const KernelCatalog& kernels,
           const Preference& preference, const Target* target, RunControl* control, Packing& packing,
           const Search& search, std::vector<PlanState> states) {
  Plan plan;
  plan.states = std::move(states);
  plan.target = {.device = preference.backends.front(), .isa = preference.isa};
  plan.built_for = preference.isa;
  plan.refit = preference.refit;
  plan.strict = preference.strict;
  plan.likely = preference.likely;
  Lowering lowering(plan, folds, taps, kernels, preference, target, control, packing, search);
  std::vector<std::pair<ValueId, uint32_t>> captures;
  lowering.graph(graph, captures);
  settle_states(plan);
  plan.symbols = symbols_of(plan.graphs[0]);
  plan.metadata = graph.metadata;
  plan.producer = graph.producer_name;
  plan.description = graph.doc;
  return plan;
}

}  // namespace lathe
