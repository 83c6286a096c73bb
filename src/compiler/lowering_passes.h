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
#include "compiler/search.h"
#include "compiler/states.h"
#include "graph/graph.h"
#include "kernel/select.h"
#include "schema/schema.h"
#include "tune/tuner.h"

namespace lathe {

/// The state that lowering passes read and change.
struct LoweringContext {
  Graph& graph;
  Folds& folds;
  const TappedValues& taps;
  const SchemaCatalog& schemas;
  const KernelCatalog& kernels;
  const Preference& preference;
  const BuildOptions& options;
  const Search& search;
  Tuner* tuner;
  const std::vector<StatePositions>& state_positions;
  std::vector<PlanState> states = {};  // how the states of the plan are made
};

/// Facts that a pass needs: of the target and the options, or provided by passes before it.
enum LoweringFact : uint16_t {
  of_any_target = 0,
  of_cpu = 1,             // the CPU's kernels come first, at the level "all", and no search keeps nodes apart
  has_vectors = 2,        // an instruction set other than generic
  fixed_weights = 4,      // no weight is exchanged later
  bfloat16_products = 8,  // the requested precision
  widened_floats = 16,    // a model of 16-bit floats calculates in float32
  channel_blocks = 32,    // values in nChw16c
};

/// "cpu, vectors".
std::string facts_text(uint16_t facts);

struct LoweringPass {
  std::string_view name, description;
  uint16_t needs = of_any_target;     // LoweringFact
  uint16_t provides = of_any_target;  // if it changed the graph
  /// Changes the graph, and returns whether it did. The driver then removes nodes that nothing reads.
  bool (*run)(LoweringContext&) = nullptr;
  /// Constants that it narrows replace wider ones: folding them costs nothing of the budget.
  bool narrows_constants = false;
  /// The plan needs it: it cannot be left out.
  bool required = false;
};

/// In the order in which they run; one that folds constants occurs several times.
std::span<const LoweringPass> lowering_passes();
/// Names of those that can be left out.
std::vector<std::string_view> optional_names(std::span<const LoweringPass> passes = lowering_passes());

/// Runs those whose needs are met and that are not left out. Throws what passes throw, cancelled, deadline.
void run_lowering_passes(LoweringContext& lowering);

/// "'-' and the name of a lowering pass: low-bit-matmuls, …".
std::string lowering_switches();
/// Takes "-name" of lowering passes out of `switches`, and returns the names.
std::set<std::string, std::less<>> take_lowering_switches(std::vector<std::string>& switches);

}  // namespace lathe
