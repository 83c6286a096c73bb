// Which element types ONNX Runtime's CPU kernels take: what is written for others keeps to them.
#pragma once

#include "graph/graph.h"
#include "schema/schema.h"

namespace lathe {

/// Has ONNX Runtime (of the version in onnxruntime_types.inc) a kernel for a node with these types, in a file
/// of this opset or of the first that has the operator? Types that are not known yet are taken. Where it has
/// kernels for float alone, it makes float of float16 by itself.
bool onnxruntime_takes(const Graph& graph, const Node& node, const SchemaCatalog& schemas, int opset);

}  // namespace lathe
