// Every step of a run held against the reference on the very inputs that it got: what differs here is wrong
// by itself, and not because of what came before it.
#pragma once

#include <optional>

#include "verify/contract.h"
#include "verify/cut.h"
#include "verify/workshop.h"

namespace lathe {

struct Suspect {
  NodeId node = no_id;
  Cut alone;                  // the node by itself
  std::vector<Value> inputs;  // as it got them
};

struct StepByStep {
  std::optional<Suspect> first;  // in the order of the graph
  std::vector<Value> outputs;    // of the run
};

/// Which steps are judged: all, or those alone whose kernels multiply sums of operands (sums.h), whose
/// bounds say more than the contract.
enum class Judged : uint8_t { all, sums };

/// Runs the optimum with all its values tapped. Throws what the run throws.
StepByStep step_by_step(const Workshop& shop, const Optimum& of, OptimizationLevel level,
                        std::span<const Value> inputs, Held held, Judged judged = Judged::all);

/// Names of the graph's outputs.
std::vector<std::string> output_names(const Graph& graph);

}  // namespace lathe
