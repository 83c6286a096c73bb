// Nodes that an older opset cannot say, said in operators that it has.
#pragma once

#include "onnx/export_version.h"

namespace lathe {

/// Puts other nodes in the place of those that opset `opset` of the default domain cannot say, in bodies too;
/// what it can say stays as it is. All are in their newest form, to be taken down afterwards. Throws
/// node_cannot_convert, which names the node and what is in the way. Returns what the way down has to know.
FromFront spell_out(Graph& g, const SchemaCatalog& catalog, int opset);

}  // namespace lathe
