// From Graph to the file, at the lowest opset and IR version that can say it, so that other runtimes of today
// load it.
#pragma once

#include "graph/graph.h"
#include "lathe/onnx.h"
#include "schema/schema.h"

namespace lathe {

struct ExportOptions {
  /// The opset of the default domain, where nodes that it does not have are said in others that it has; 0: the
  /// lowest that says the graph as it is, but not below `least_opset`.
  int opset = 0;
  /// What older runtimes of the present promise to read.
  int least_opset = 7;
  /// Types of inner values, for other tools.
  bool value_info = true;
};

/// The graph as a model. Tensors are shared with the graph, not copied. Throws node_cannot_convert where the
/// opset asked for cannot say a node, or where a constant that is no tensor has no way into a file;
/// bad_argument where there is no such opset.
onnx::Model export_model(const Graph& graph, const SchemaCatalog& catalog, const ExportOptions& options = {});

}  // namespace lathe
