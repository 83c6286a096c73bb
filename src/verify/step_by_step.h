// Compares every step of a run with the reference on the same inputs: a step that differs is wrong by itself,
// and not because of earlier steps.
#pragma once

#include <optional>

#include "verify/build_variants.h"
#include "verify/cut.h"
#include "verify/tolerance.h"

namespace lathe {

struct TracedStep {
  NodeId node = no_id;
  Cut alone;                  // the node by itself
  std::vector<Value> inputs;  // as it got them
};

struct StepByStep {
  std::optional<TracedStep> first;  // in the order of the graph
  std::vector<Value> outputs;       // of the run
};

/// The steps that are judged: all, or only those whose kernels multiply sums of operands (sums.h), for which
/// bounds are tighter than the tolerance.
enum class Judged : uint8_t { all, sums };

/// Runs the optimum with all its values tapped. Throws what the run throws.
StepByStep step_by_step(const BuildVariants& variants, const Optimum& of, OptimizationLevel level,
                        std::span<const Value> inputs, Held held, Judged judged = Judged::all);

/// Names of the graph's outputs.
std::vector<std::string> output_names(const Graph& graph);

}  // namespace lathe
