// One exported file at a time, run in every way that is compared.
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

/// What of a merged file is run: the config of a branch, and what the file wants besides its inputs.
struct ValidatedBranch {
  const OnnxConfig* config = nullptr;
  std::string label = {};  // empty where there is but one
  /// Fed besides what the config makes; inputs that neither gives are empty keys and values.
  NamedValues besides = {};
  /// What the branch is held against, made when it is its turn: nothing where that is the file itself. It has
  /// the branch's inputs and outputs under the same names.
  std::function<onnx::Model()> reference = {};
  /// The file's weights are those of the reference, bit by bit, where they have the same name.
  bool same_weights = false;
};

ValidationReport validate_branches(const std::filesystem::path& model,
                                   const std::vector<ValidatedBranch>& branches, const DummyShapes& shapes,
                                   const ValidationOptions& options);

/// Budget of the type that an output has, in units in the last place of its largest number.
double ulps_allowed(DataType type, const ValidationOptions& options);
/// By how many such units `got` is off at most; infinite where types, shapes or what is finite differ.
/// `absolute`: the largest difference.
double ulps_off(const Tensor& got, const Tensor& want, double* absolute = nullptr);

}  // namespace lathe::exporters
