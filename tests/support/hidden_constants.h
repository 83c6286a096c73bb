// Constants that only folding finds: sizes, axes and shapes of a model come from nodes that shape inference
// does not follow and constant folding computes, and may contradict the operators that read them.
#pragma once

#include "lathe/onnx.h"
#include "support/choices.h"

namespace lathe::testing {

/// Replaces some initializers of the main graph by the results of nodes; some of these have other numbers, or
/// another shape, than the model declares.
void hide_constants(onnx::ModelProto& model, Choices& choose);

}  // namespace lathe::testing
