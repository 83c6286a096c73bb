// Decomposes nodes that an older opset cannot express into operators that it has.
#pragma once

#include "onnx/export_version.h"

namespace lathe {

/// Replaces nodes that opset `opset` of the default domain cannot express, in bodies too; other nodes stay as
/// they are. All are in their newest form, to be downgraded afterwards. Throws node_cannot_convert, which
/// names the node and the obstacle. Returns facts that downgrade() needs.
FromFront decompose_all(Graph& g, const SchemaCatalog& catalog, int opset);

}  // namespace lathe
