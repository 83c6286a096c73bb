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
  /// Patches that did not fit what they were to replace, and were left out: faults of Lathe, not of the
  /// model.
  std::vector<Diagnostic> declined;
  /// With BuildOptions::refit: constants that may not be exchanged, since shapes follow from what they hold.
  std::set<const Value*> deciding;
};

/// What is left of the budget for folded constants: bytes that all of them together may have more than the
/// weights of the file that nothing reads any more.
uint64_t fold_budget(const Graph& graph, const BuildOptions& options, const Folds& folds);

/// Changes `graph`; its inputs and outputs keep their names, types and order. Throws bad_argument for pass
/// switches that fit no pass, cancelled and deadline; where the search brings passes of its own,
/// Code::internal naming pass and node where one breaks what it touches. Nodes that cannot run, as constants
/// turned out to be, are refused in a run (passes/refused_nodes.h); in a graph for others they stay as they
/// are.
Optimized optimize_graph(Graph& graph, const SchemaCatalog& schemas, const KernelCatalog& kernels,
                         const BuildOptions& options, const Search& search = {});

}  // namespace lathe
