// Runs a Graph with the reference kernels, as plainly as can be: values on the heap, one thread, node after
// node. It folds constants and judges everything that is faster.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/run_control.h"

namespace lathe {

struct EvalOptions {
  const KernelCatalog* kernels = nullptr;  // null: KernelCatalog::standard()
  RunControl* control = nullptr;
  /// Bytes that values alive at one time may take, inputs and constants not counted; 0: none. Beyond:
  /// Code::run_memory_limit.
  uint64_t memory_limit = 0;
  /// Called with every value as it is made, those of bodies too, each time.
  std::function<void(const Graph& graph, const Node& node, size_t output, const Value& value)> listener = {};
};

/// Returns the outputs of a graph for inputs by position; an empty Value: left out. Every value must have an
/// element type (see inference). Throws Error with the node where it happened.
std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                            const EvalOptions& options = {});

/// Outputs of one node for its inputs by position; what its bodies capture must be constants of `graph`.
std::vector<Value> evaluate_node(const Graph& graph, NodeId node, std::span<const Value> inputs,
                                 const EvalOptions& options = {});

}  // namespace lathe
