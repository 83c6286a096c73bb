// Imports a file as a Graph: every operator in its newest version, every value typed with symbolic shapes,
// functions inlined.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lathe/onnx.h"
#include "schema/schema.h"

namespace lathe {

class RunControl;

struct ImportOptions {
  /// True if calls of the model's own functions are replaced by their bodies. Else they stay as nodes, and
  /// Graph::functions keeps the bodies.
  bool inline_functions = true;
  /// Symbols of the inputs' shapes that are fixed: "batch" → 1. One that no input has is an error
  /// (build_bad_option).
  std::map<std::string, int64_t> shapes;
  /// True if inputs that have a default become constants.
  bool fix_defaults = false;
  /// Published limits: nodes and bodies after inlining; bodies and functions nested in each other.
  size_t max_nodes = size_t{1} << 17;
  int max_nesting = 200;
  /// True to report also findings about what no run reaches: functions that nothing calls, training_info.
  bool unreached = false;
  /// True if large initializers may stay in the file's memory at odd addresses (tensor/alignment.h), for
  /// callers that handle these.
  bool any_alignment = false;
  /// Checked before every node.
  RunControl* control = nullptr;
};

/// Imports a model. All faults are collected before the first error is thrown; `findings` receives them,
/// warnings included. The graph's constants share the model's memory (and its file's mapping), not the model
/// itself.
///
/// Sizes of inputs: a dim_param is a symbol, the same everywhere; one that reads as an expression over
/// symbols of the inputs ("past + seq") is that expression; an unnamed size becomes the symbol
/// "<input>.<axis>". From IR version 4 on, an initializer that is an input too is that input's default;
/// before, it is a constant. Nodes may come in any order (a warning). Errors: 2xxx; 12xx of external data;
/// build_bad_option; cancelled, deadline.
std::unique_ptr<Graph> import_model(const onnx::Model& model, const SchemaCatalog& catalog,
                                    const ImportOptions& options = {},
                                    std::vector<Diagnostic>* findings = nullptr);

/// The same for callers that need all findings: faults of the model end up in `findings` only. If some are
/// errors, a partial graph is returned: values without producers and without types are possible.
std::unique_ptr<Graph> import_leniently(const onnx::Model& model, const SchemaCatalog& catalog,
                                        const ImportOptions& options, std::vector<Diagnostic>& findings);

}  // namespace lathe
