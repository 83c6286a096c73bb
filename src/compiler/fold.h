// Constant folding: nodes that depend on constants only are computed when the engine is built.
#pragma once

#include <map>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/run_control.h"
#include "schema/schema.h"

namespace lathe {

/// Describes how a folded constant was made; the weight program replays it.
struct Fold {
  std::string op, domain;
  Attributes attributes;
  struct Operand {
    std::shared_ptr<const Value> constant;  // null: an input left out
    std::string name, source;
  };
  std::vector<Operand> from;
  std::vector<DataType> outputs;  // of all outputs of the node; undefined: not required
  uint32_t output = 0;
  std::shared_ptr<const Value> made;  // kept, so that its address stays its own
};
/// The folds by the constants that they made.
using Folds = std::map<const Value*, Fold>;

struct FoldOptions {
  const SchemaCatalog* schemas = nullptr;
  const KernelCatalog* kernels = nullptr;
  RunControl* control = nullptr;
  /// Selects the weights, stored as integers with a scale, that become floats. In a file none do (`none`):
  /// they are smaller so, and other runtimes look for them. `others`: all but those that quantized operators
  /// will read as they are (int8_weights.h, low_bit_matmuls.h).
  enum class Dequantize : uint8_t { none, others, all };
  Dequantize dequantize = Dequantize::all;
  /// True if later passes need not have large weights transposed (passes/transposed_weights.h).
  bool leave_transposes = false;
  /// Folds nothing that may determine sizes, axes or conditions: after the last inference such numbers would
  /// not be checked against the operators that read them.
  bool weights_only = false;
  /// The bytes by which all folded constants together may exceed the weights that they replace; a node that
  /// would go beyond is not folded. 0: nothing is folded.
  uint64_t limit = 0;
};

/// Replaces nodes of the graph and of its bodies by the constants they give. A node that fails stays: the run
/// will give the reason. Throws only cancelled and deadline.
Folds fold_constants(Graph& graph, const FoldOptions& options);

}  // namespace lathe
