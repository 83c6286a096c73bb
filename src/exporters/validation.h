// Validates one exported file in every way that is compared.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lathe/exporters.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

/// One branch of a merged file that is validated: its config, and the inputs that the file has besides the
/// config's.
struct ValidatedBranch {
  const OnnxConfig* config = nullptr;
  std::string label = {};  // empty where there is but one
  /// Values that are fed besides those of the config; inputs that are in neither are empty keys and values.
  NamedValues extra_inputs = {};
  /// Makes the reference for the branch when it is validated; empty if the file itself is the reference. It
  /// has the branch's inputs and outputs under the same names.
  std::function<onnx::Model()> reference = {};
  /// True if the file's weights must have the bits of the reference's weights of the same name.
  bool same_weights = false;
};

ValidationReport validate_branches(const std::filesystem::path& model,
                                   const std::vector<ValidatedBranch>& branches, const DummyShapes& shapes,
                                   const ValidationOptions& options);

/// Returns the tolerance for an output of that type, in units in the last place of its largest number.
double ulps_allowed(DataType type, const ValidationOptions& options);
/// Returns by how many such units `got` is off at most; infinite if types, shapes or the set of finite
/// elements differ. `absolute`: the largest difference.
double ulps_off(const Tensor& got, const Tensor& want, double* absolute = nullptr);

}  // namespace lathe::exporters
