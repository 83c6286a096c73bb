// Conversion of models between versions of the standard.
#pragma once

#include "lathe/export.h"
#include "lathe/onnx.h"

namespace lathe {

/// Imports the model (newest operators, inferred shapes) and writes it back at the lowest opset and IR
/// version that can express it, or at `opset`: newer operators are then decomposed into others, and functions
/// written in a newer opset are inlined. Throws node_cannot_convert for a node that cannot be expressed
/// there, and as inspect() does. ONNX: onnx.version_converter.
LATHE_API onnx::Model normalize(const onnx::Model& model, int opset = 0);

}  // namespace lathe
