// Nodes whose constants are at odds with their operator: no rewrite may look at them, and a run refuses them.
#pragma once

#include "graph/graph.h"
#include "schema/infer.h"

namespace lathe {

/// Becomes an operator that nothing but the runtime knows (ops/refused/refused.h) and that reports the fault
/// in a run.
void refuse_node(Graph& g, NodeId n, const Diagnostic& fault);

/// Infers all of the graph as import does, with what is known now. Nodes that it refuses are made so.
void refuse_faulty_nodes(Graph& root, const SchemaCatalog& schemas, InferState& state);

/// The same of one node, and of what its bodies hold.
void refuse_if_faulty(Graph& g, NodeId n, const SchemaCatalog& schemas, InferState& state);

/// Refused nodes, those of bodies too, become what they were: in a graph that is written.
void restore_refused_nodes(Graph& root);

}  // namespace lathe
