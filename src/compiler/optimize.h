// The graph as the optimizer leaves it: passes and constant folding in turn, until neither finds anything.
#pragma once

#include <set>

#include "compiler/fold.h"
#include "compiler/search.h"
#include "passes/driver.h"

namespace lathe {

struct Optimized {
  Folds folds;
  std::vector<AppliedPatch> patches;
  /// Patches that did not fit the values they were to replace, and were declined: faults of Lathe, not of the
  /// model.
  std::vector<Diagnostic> declined;
  /// With BuildOptions::refit: constants that may not be exchanged, since shapes follow from what they hold.
  std::set<const Value*> deciding;
};

/// Returns what is left of the budget for folded constants: the bytes by which all of them together may
/// exceed the weights of the file that nothing reads any more.
uint64_t fold_budget(const Graph& graph, const BuildOptions& options, const Folds& folds);

/// Changes `graph`; its inputs and outputs keep their names, types and order. Throws bad_argument for pass
/// switches that fit no pass, cancelled and deadline; if the search brings passes of its own, Code::internal
/// naming the pass and the node whose patch breaks the graph. Nodes that constants turn out to make invalid
/// are refused in a run (passes/refused_nodes.h); in a graph for others they stay as they are.
Optimized optimize_graph(Graph& graph, const SchemaCatalog& schemas, const KernelCatalog& kernels,
                         const BuildOptions& options, const Search& search = {});

}  // namespace lathe
