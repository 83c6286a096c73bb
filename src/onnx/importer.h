// From the file to Graph: every operator in its newest version, every value typed with symbolic shapes,
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
  /// Calls of the model's own functions are replaced by their bodies. Else they stay as nodes, and
  /// Graph::functions keeps the bodies.
  bool inline_functions = true;
  /// Symbols of the inputs' shapes that are fixed: "batch" → 1. One that no input has is an error
  /// (build_bad_option).
  std::map<std::string, int64_t> shapes;
  /// Inputs that have a default are constants, and no inputs.
  bool fix_defaults = false;
  /// Published limits: nodes and bodies after inlining; bodies and functions nested in each other.
  size_t max_nodes = size_t{1} << 17;
  int max_nesting = 200;
  /// Findings about what no run reaches too: functions that nothing calls, training_info. For checkers.
  bool unreached = false;
  /// Large initializers may stay where they are in the file, at odd addresses (tensor/alignment.h). For those
  /// who see to it.
  bool any_alignment = false;
  /// Asked before every node.
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

/// The same for those who want everything there is to say: faults of the model end up in `findings` only.
/// Where some are errors, what could be made of the graph is returned: values without producers and without
/// types are possible.
std::unique_ptr<Graph> import_leniently(const onnx::Model& model, const SchemaCatalog& catalog,
                                        const ImportOptions& options, std::vector<Diagnostic>& findings);

}  // namespace lathe
