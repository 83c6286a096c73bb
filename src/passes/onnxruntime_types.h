// The element types that ONNX Runtime's CPU kernels support: patches of graphs that are saved for others keep
// to them.
#pragma once

#include "graph/graph.h"
#include "schema/schema.h"

namespace lathe {

/// Returns whether ONNX Runtime (of the version in onnxruntime_types.inc) has a kernel for a node with these
/// types, in a file of this opset or of the first that has the operator. Types that are not known yet are
/// accepted. If it has kernels for float alone, it casts float16 to float by itself.
bool onnxruntime_takes(const Graph& graph, const Node& node, const SchemaCatalog& schemas, int opset);

}  // namespace lathe
