// Runs passes over a graph and its bodies until none has anything to propose, and checks what each patch did.
#pragma once

#include <functional>

#include "passes/pass.h"

namespace lathe {

struct PassOptions {
  OptimizationLevel level = OptimizationLevel::basic;
  /// The passes to choose from; null: all_passes().
  const PassList* passes = nullptr;
  /// "+name" adds passes that the level does not have, "-name" removes passes; names may be patterns of the
  /// shell.
  std::vector<std::string> switches = {};
  /// Other switches that exist, for the error: "'-' and …"; empty: none.
  std::string or_else = {};
  /// The number of patches after which to stop; bisection varies it.
  size_t stop_after = SIZE_MAX;
  /// The opset of the file to be written: patches whose operators came later are declined. 0: any.
  int newest_opset = 0;
  bool for_others = false;  // the graph is to be written
  /// With `for_others`: no older opset will be written. Patches are declined whose nodes ONNX Runtime has no
  /// kernel for at this opset, where it has kernels for what they replace.
  int written_opset = 0;
  RunControl* control = nullptr;
  /// A pass whose patch does not fit is left out at that node, and named in Rewriting::declined; else it is
  /// an error. An optimization that fails is no reason for a model not to run, but for tests to fail.
  bool decline_faulty = false;
  /// No rewrite depends on the contents of these.
  Exchangeable exchangeable = {};
};

/// One patch that was applied.
struct AppliedPatch {
  std::string_view pass;
  std::string node;    // the anchor's name
  std::string reason;  // in the patch's words
};

struct Rewriting {
  std::vector<AppliedPatch> patches;
  /// With PassOptions::decline_faulty: patches that did not fit, with the pass and the node.
  std::vector<Diagnostic> declined;
  /// False: stopped while passes still had something to propose, because they undid each other's work.
  bool at_rest = true;
};

/// Types and shapes of new values are inferred, and must agree with those of the values that they replace:
/// else Code::internal names pass and node. Throws bad_argument for switches that fit no pass.
Rewriting run_passes(Graph& graph, const SchemaCatalog& schemas, const PassOptions& options = {});

}  // namespace lathe
