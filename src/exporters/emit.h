// From an architecture with its weights to an ONNX model, as a config wants it.
#pragma once

#include "lathe/exporters/onnx_config.h"
#include "lathe/nn.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

struct EmitOptions {
  std::string name;  // of the graph
  int opset = 18;
  bool no_dynamic_axes = false;
  DummyShapes shapes = {};
};

/// Inputs, outputs and axes with the names of the config, in its order; weights are the model's own memory.
/// Throws bad_argument for an output that the architecture does not give, with those that it gives;
/// node_bad_shape for one that lacks an axis which the config names, node_cannot_convert for an opset that
/// cannot say it, and what the architecture throws.
onnx::Model emit(nn::Model& model, const OnnxConfig& config, const EmitOptions& options);

}  // namespace lathe::exporters
