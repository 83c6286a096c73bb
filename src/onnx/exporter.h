// Writes a Graph to the file format, at the lowest opset and IR version that can express it, so that other
// current runtimes load it.
#pragma once

#include "graph/graph.h"
#include "lathe/onnx.h"
#include "schema/schema.h"

namespace lathe {

struct ExportOptions {
  /// The opset of the default domain; nodes that it does not have are decomposed into others. 0: the lowest
  /// opset that expresses the graph as it is, but not below `min_opset`.
  int opset = 0;
  /// The default is an opset that older runtimes still in use promise to read.
  int min_opset = 7;
  /// Types of inner values, for other tools.
  bool value_info = true;
};

/// The graph as a model. Tensors are shared with the graph, not copied. Throws node_cannot_convert if the
/// requested opset cannot express a node, or if a constant that is no tensor cannot be written to a file;
/// bad_argument if there is no such opset.
onnx::Model export_model(const Graph& graph, const SchemaCatalog& catalog, const ExportOptions& options = {});

}  // namespace lathe
