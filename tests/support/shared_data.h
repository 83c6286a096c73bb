// Models and backend cases of others, read in place: cases with inputs and the outputs to expect.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::testing {

/// The folder with models/ and onnx-backend-1.23/: $LATHE_SHARED, else ../shared beside the source tree. If
/// it is absent, the calling test fails with CI=true, else it should be skipped (use the macro below).
std::optional<std::filesystem::path> shared_data();

/// A set of inputs and what must come out.
struct DataSet {
  std::string name;
  std::map<std::string, std::filesystem::path> inputs;  // by name (models) …
  std::map<std::string, std::filesystem::path> outputs;
  std::vector<std::filesystem::path> input_list, output_list;  // … or by position (backend cases)
  /// Outputs of the data set before that replace inputs here: stateful models, fed step by step.
  std::map<std::string, std::string> feedback;
};

struct ConformanceCase {
  std::string name;
  std::filesystem::path model;
  std::vector<DataSet> sets;
  double rtol = 1e-3, atol = 1e-7;
  std::map<std::string, std::pair<double, double>> per_output;  // name → rtol, atol
  std::map<std::string, double> integers;                       // name → atol; of others 0
};

/// Categories "node", "simple", "pytorch-converted", "pytorch-operator" and "real" of the onnx package's
/// backend cases.
std::vector<ConformanceCase> backend_cases(const std::filesystem::path& shared, const std::string& category);
/// The models (`micro` false) or the small ones; each data set is a case of its meta.json, sequences are in
/// order.
std::vector<ConformanceCase> model_cases(const std::filesystem::path& shared, bool micro);

/// Returns a file's value in the model's type (TensorProto, SequenceProto or OptionalProto by the declared
/// type).
Value load_case_value(const std::filesystem::path& file, const std::string& declared_type);

/// Returns nothing if equal within tolerance, else the difference. Bools and strings must match exactly,
/// integers up to `integer_atol`; NaN equals NaN.
std::string difference(const Value& got, const Value& want, double rtol, double atol,
                       double integer_atol = 0);

/// Runs one model over one data set.
using Runner = std::function<std::vector<Value>(Engine&, const std::vector<Value>& inputs)>;

struct CaseResult {
  bool passed = false;
  std::string message;
  std::optional<Code> code;
  std::string op;  // operator that the error names
};
/// Builds with the options and compares every data set.
CaseResult run_case(const ConformanceCase& c, const BuildOptions& options, const Runner& runner = {});

#define LATHE_NEEDS_SHARED(var)                                                               \
  auto var##_optional = ::lathe::testing::shared_data();                                      \
  if (!var##_optional) {                                                                      \
    if (std::getenv("CI")) FAIL() << "the shared data is absent: set LATHE_SHARED";           \
    GTEST_SKIP() << "the shared data is absent: set LATHE_SHARED to the folder with models/"; \
  }                                                                                           \
  const std::filesystem::path& var = *var##_optional

}  // namespace lathe::testing
