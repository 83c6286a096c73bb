// The passes of a build's second phase: they change a graph for the target that runs it, in plans only. They
// follow the graph passes (src/passes), after which a graph is still standard ONNX.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/fold.h"
#include "compiler/lower.h"
#include "compiler/lowering_pass.h"
#include "compiler/search.h"
#include "compiler/states.h"
#include "compiler/target.h"
#include "graph/graph.h"
#include "kernel/select.h"
#include "schema/schema.h"
#include "tune/tuner.h"

namespace lathe {

/// The state that lowering passes read and change.
struct LoweringContext {
  Graph& graph;  // the main one
  Folds& folds;
  const TappedValues& taps;
  const SchemaCatalog& schemas;
  const KernelCatalog& kernels;
  const Preference& preference;
  const BuildOptions& options;
  const Search& search;
  const Target* target;  // whose kernels come first; null: none that is known here
  Tuner* tuner;
  const std::vector<StatePositions>& state_positions;
  std::vector<PlanState> states = {};  // how the states of the plan are made
};

/// "vectors, fixed weights".
std::string facts_text(uint16_t facts);

/// Folds constants within the budget; returns whether there were any.
bool fold_in_budget(LoweringContext& l, Graph& g);
/// The pass that folds constants, which runs wherever others leave some.
inline LoweringPass constant_folding(uint16_t needs = nothing, LoweringStage stage = LoweringStage::layout) {
  return {.name = "constant-folding",
          .description = "computes what depends on weights only",
          .stage = stage,
          .needs = needs,
          .run = fold_in_budget,
          .required = true};
}
/// Runs a pass that adds a node for whatever it changes, and returns whether it did.
template <class F>
bool adds_nodes(Graph& g, F&& pass) {
  const size_t before = g.node_count();
  pass();
  return g.node_count() != before;
}

/// In the order in which they run; one that folds constants occurs several times. `targets`: whose passes are
/// among them.
std::vector<LoweringPass> lowering_passes(std::span<const Target> targets = built_in_targets());
/// Names of those that can be left out.
std::vector<std::string_view> optional_names(std::span<const LoweringPass> passes);

/// Runs those whose needs are met and that are not left out. Throws what passes throw, cancelled, deadline.
void run_lowering_passes(LoweringContext& lowering);

/// The passes of all built-in targets, and those of `target` besides if it is another one; null: none
/// besides.
std::vector<LoweringPass> lowering_passes_with(const Target* target);

/// "'-' and the name of a lowering pass: low-bit-matmuls, …".
std::string lowering_switches(std::span<const LoweringPass> known);
/// Takes "-name" of known lowering passes out of `switches`, and returns the names.
std::set<std::string, std::less<>> take_lowering_switches(std::vector<std::string>& switches,
                                                          std::span<const LoweringPass> known);

}  // namespace lathe
