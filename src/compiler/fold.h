// Constant folding: what depends on constants only is computed when the engine is built.
#pragma once

#include <map>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/run_control.h"
#include "schema/schema.h"

namespace lathe {

/// How a folded constant was made: what the weight program replays.
struct Fold {
  std::string op, domain;
  Attributes attributes;
  struct Operand {
    std::shared_ptr<const Value> constant;  // null: an input left out
    std::string name, source;
  };
  std::vector<Operand> from;
  std::vector<DataType> outputs;  // of all outputs of the node; undefined: not wanted
  uint32_t output = 0;
  std::shared_ptr<const Value> made;  // kept, so that its address stays its own
};
/// By the constant that came of it.
using Folds = std::map<const Value*, Fold>;

struct FoldOptions {
  const SchemaCatalog* schemas = nullptr;
  const KernelCatalog* kernels = nullptr;
  RunControl* control = nullptr;
  /// Which weights that are stored as integers with a scale become floats. In a file they stay (`none`): they
  /// are smaller so, and other runtimes look for them. `others`: not those that quantized operators will read
  /// as they are (int8_weights.h, low_bit_matmuls.h).
  enum class Dequantize : uint8_t { none, others, all };
  Dequantize dequantize = Dequantize::all;
  /// Are there passes behind this that need not have large weights transposed (passes/transposed_weights.h)?
  bool leave_transposes = false;
  /// Nothing that sizes, axes or conditions may follow from: behind the last inference such numbers would not
  /// be held against the operators that read them.
  bool weights_only = false;
  /// Bytes that all folded constants together may have more than the weights that they take the place of;
  /// what would go beyond stays a node. 0: nothing is folded.
  uint64_t limit = 0;
};

/// Replaces nodes of the graph and of its bodies by the constants they give. A node that fails stays: the run
/// will give the reason. Throws only cancelled and deadline.
Folds fold_constants(Graph& graph, const FoldOptions& options);

}  // namespace lathe
