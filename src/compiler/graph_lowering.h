// Lowers a graph into a plan: nodes and regions become steps, values get places in the memory of kernels.
// lower.cc goes through the nodes, lower_regions.cc makes steps of elementwise regions, lower_values.cc keeps
// the values.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/lower.h"
#include "compiler/regions.h"
#include "compiler/target.h"
#include "compiler/weights.h"
#include "runtime/program.h"

namespace lathe {

/// The state that the graphs of one plan share.
class Lowering {
 public:
  Lowering(Plan& p, const Folds& folds, const TappedValues& t, const KernelCatalog& k, const Preference& pref,
           const Target* to, RunControl* c, Packing& pack, const Search& s)
      : plan(p),
        weights(p.weights, folds),
        taps(t),
        kernels(k),
        preference(pref),
        target(to),
        control(c),
        packing(pack),
        search(s) {}

  /// Lowers a graph; returns its index, and fills in where its captures are.
  uint32_t graph(const Graph& g, std::vector<std::pair<ValueId, uint32_t>>& captures);
  std::span<const ValueId> taps_of(const Graph& g) const {
    const auto at = taps.find(&g);
    return at == taps.end() ? std::span<const ValueId>() : at->second;
  }
  /// The plan's number for the memory that a kernel wants its operands in.
  MemorySpace space_of(const Kernel& k) {
    if (k.memory == host_memory) return host_memory;
    const auto at = std::ranges::find(plan.backends, k.backend);
    const auto index = at - plan.backends.begin();
    if (at == plan.backends.end()) plan.backends.push_back(k.backend);
    return static_cast<MemorySpace>(index + 1);
  }

  Plan& plan;
  WeightTable weights;
  const TappedValues& taps;
  const KernelCatalog& kernels;
  const Preference& preference;
  const Target* target;  // null: none that is known here
  RunControl* control;
  Packing& packing;
  const Search& search;
};

/// Lowers one graph into the plan.
class GraphLowering {
 public:
  GraphLowering(Lowering& all, const Graph& graph) : all_(all), graph_(graph) {}
  PlanGraph run();
  /// The plan's value for one of the graph; makes the copy step where it lives in another memory.
  uint32_t value_in(ValueId v, MemorySpace space);

 private:
  std::vector<NodeId> live_nodes(bool with_taps) const;
  void find_regions(std::span<const NodeId> main, std::span<const NodeId> for_taps);
  bool is_tapped_inside(const Node& n) const;
  void lower(NodeId id);
  void lower(const Region& r);
  std::optional<std::string> refusal_of(const Region& r) const;
  void lower_apart(const Region& r, std::string reason);
  void add_step(const Region& r);
  void move_operands(const Region& r, MemorySpace space, PlanStep& step);
  void lower_for_taps(const Region& r);
  void find_averaged(std::span<const NodeId> main);
  void add_row_means(const Node& n, const std::vector<ValueId>& results, PlanStep& step);
  std::optional<uint32_t> row_means_for(const Node& n) const;
  std::vector<std::string> reasons(NodeId last, NodeId reader) const;
  PlanStep describe(const Node& n, const std::vector<ValueId>& outputs);
  PlanStep describe(const Region& r);
  Choice choose(PlanStep& step, bool by_reference);
  Choice choose_as_it_is(PlanStep& step, bool by_reference) const;
  void add(PlanStep step);
  bool is_by_reference(NodeId id) const {
    return all_.search.by_reference && all_.search.by_reference(graph_, id);
  }
  void add_bodies(const Node& n, PlanStep& step);
  void place_outputs(const std::vector<ValueId>& outputs, MemorySpace space, const PlanStep& step);
  void share_memory(const Node& n, const Kernel& kernel, const PlanStep& step);
  uint32_t value_anywhere(ValueId v);
  uint32_t add_value(ValueId v, ValueRole role, MemorySpace space);
  bool is_constant(ValueId v) const { return graph_.value(v).is_constant(); }
  bool grows(int32_t value) const {
    return value >= 0 && all_.plan.grows_along(made_.values[static_cast<size_t>(value)]) >= 0;
  }
  bool has_growing(const PlanStep& step) const {
    const auto is = [&](int32_t v) { return grows(v); };
    return std::ranges::any_of(step.inputs, is) || std::ranges::any_of(step.outputs, is);
  }
  uint32_t dense(uint32_t value);
  uint32_t dense_in(ValueId v, MemorySpace space) { return dense(value_in(v, space)); }
  void make_dense(PlanStep& step);
  uint32_t add_dense_value(uint32_t state, std::string_view suffix);
  int32_t state_of(ValueId v, ValueRole role, MemorySpace space) const;

  Lowering& all_;
  const Graph& graph_;
  PlanGraph made_;
  Regions regions_;
  std::vector<bool> read_for_taps_;  // by value: read by taps, or by nodes that are computed for them
  std::map<std::pair<ValueId, MemorySpace>, uint32_t> index_;
  std::map<NodeId, std::string> refused_;  // why a region that ends there is no step of the target
  std::set<ValueId> averaged_;             // values on the main path that are averaged over all pixels
  std::map<ValueId, uint32_t> row_means_;  // of averaged values, the plan's value of the row means
  std::map<uint32_t, uint32_t> dense_;     // of states that grow, the plan's value of a dense copy
  std::vector<PlanStep> after_;            // steps that append results of the current step to states
};

}  // namespace lathe
