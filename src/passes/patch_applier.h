// Adds the nodes of a patch to a graph, and checks that they fit before anything reads them: a service of the
// driver of passes and of the rewrites that plug-ins bring.
#pragma once

#include "graph/graph.h"
#include "schema/infer.h"

namespace lathe {

/// Stages patches and takes them back; keeps what inference knows of the values of the graphs.
class PatchApplier {
 public:
  explicit PatchApplier(const SchemaCatalog& schemas) : schemas_(schemas) {
    // Contents of small tensors are not kept in a graph: they are found anew.
    state_.believe_inferred = true;
  }

  InferState& state() { return state_; }
  const InferState& state() const { return state_; }

  /// Adds the patch's nodes to the graph, infers their types, and checks that they fit those of the values
  /// that they will replace, of which more may become known. On a fault the nodes are removed again, and it
  /// is thrown.
  Patch::Staged stage(const Patch& patch, Graph& g);
  /// Removes what stage() added.
  void take_back(const Patch& patch, const Patch::Staged& staged, Graph& g);

 private:
  const SchemaCatalog& schemas_;
  InferState state_;
};

}  // namespace lathe
