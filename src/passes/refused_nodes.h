// Nodes whose constants contradict their operator: no rewrite matches them, and a run refuses them.
#pragma once

#include "graph/graph.h"
#include "schema/infer.h"

namespace lathe {

/// Turns the node into an operator that only the runtime has (ops/refused/refused.h) and that reports the
/// fault in a run.
void refuse_node(Graph& g, NodeId n, const Diagnostic& fault);

/// Infers the whole graph as import does, with what is known now, and refuses the nodes with faults.
void refuse_faulty_nodes(Graph& root, const SchemaCatalog& schemas, InferState& state);

/// Infers one node and its bodies, and refuses them in the same way.
void refuse_if_faulty(Graph& g, NodeId n, const SchemaCatalog& schemas, InferState& state);

/// Turns refused nodes, also in bodies, back into what they were, for a graph that is saved.
void restore_refused_nodes(Graph& root);

}  // namespace lathe
