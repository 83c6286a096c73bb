// Collects all faults of a model at once.
#pragma once

#include <vector>

#include "lathe/error.h"
#include "lathe/onnx.h"
#include "schema/schema.h"

namespace lathe {

class RunControl;

/// Returns faults in structure (names, cycles, versions, arity, attributes), meaning (types, shapes) and
/// tensors, with node, inputs and their inferred types, and a remedy; and warnings: order of nodes, denormal
/// weights, unused values. Empty if there is none. Functions are checked where they are called; of functions
/// that nothing calls, and of training_info, only the structure is checked. Reads every float weight. Throws
/// only cancelled and deadline.
std::vector<Diagnostic> check_model(const onnx::Model& model, const SchemaCatalog& catalog,
                                    RunControl* control = nullptr);

}  // namespace lathe
