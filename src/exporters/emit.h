// Makes an ONNX model of an architecture with its weights, as a config requires.
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

/// The model has inputs, outputs and axes with the names of the config, in its order; weights are the model's
/// own memory. Throws bad_argument for an output that the architecture lacks, with those that it has;
/// node_bad_shape for one without an axis that the config names, node_cannot_convert for an opset that cannot
/// express it, and what the architecture throws.
onnx::Model emit(nn::Model& model, const OnnxConfig& config, const EmitOptions& options);

}  // namespace lathe::exporters
