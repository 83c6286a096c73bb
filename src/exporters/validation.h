// One exported file at a time, run in every way that is compared.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lathe/exporters.h"

namespace lathe::exporters {

/// What of a merged file is run: the config of a branch, and what the file wants besides its inputs.
struct ValidatedBranch {
  const OnnxConfig* config = nullptr;
  std::string label;  // empty where there is but one
  /// Fed besides what the config makes; inputs that neither gives are empty keys and values.
  NamedValues besides = {};
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
