// Constants that only folding finds: what a model says of sizes, axes and shapes stands behind nodes that
// shape inference does not follow and constant folding computes, and may be at odds with the operators that
// read it.
#pragma once

#include "lathe/onnx.h"
#include "support/choices.h"

namespace lathe::testing {

/// Some initializers of the main graph become the results of nodes; some of these have other numbers, or
/// another shape, than the model says.
void hide_constants(onnx::ModelProto& model, Choices& choose);

}  // namespace lathe::testing
