// Verification: every level of optimization, kernel and fused step against the reference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/build_options.h"
#include "lathe/error.h"
#include "lathe/export.h"
#include "lathe/io_info.h"
#include "lathe/onnx.h"
#include "lathe/value.h"

namespace lathe {

/// Options of verify().
struct VerifyOptions {
  /// How engines are built: backend, threads, isa, passes, plugins, shapes fixed at build, …. Taps, tuning
  /// and level are ignored; `levels` takes the place of the last. `progress` is called with what is compared;
  /// `control` cancels, and where it is given, `seconds` is looked at between runs only.
  BuildOptions build;
  /// Levels to compare.
  std::vector<OptimizationLevel> levels{std::begin(optimization_levels), std::end(optimization_levels)};
  /// Sizes of symbols. Symbols that neither these nor `shapes` fix are tried at 1, 2, 3 and 17.
  std::map<std::string, int64_t> sizes = {};
  NamedShapes shapes = {};  // shapes of inputs
  /// Inputs to compare with as they are. Synthetic inputs also take their shapes, and take integers and
  /// strings from them.
  std::vector<NamedValues> recorded = {};
  uint64_t seed = 0;    // seed of synthetic inputs
  double seconds = 60;  // seconds after which no further comparison begins
};

/// The result of verify().
struct VerifyReport {
  /// Describes one comparison with the reference.
  struct Trial {
    std::string shapes;                                 // "batch=2", "as declared", "recorded"
    std::string values;                                 // "ordinary", "zeros", …, "recorded"
    OptimizationLevel level = OptimizationLevel::none;  // level of the engine that was compared
    /// The largest difference of an output element: for floats relative to the largest element of its tensor,
    /// for others absolute.
    double difference = 0;
    /// True where the difference exceeds the tolerance although every step is right on its own inputs: the
    /// model amplifies rounding, or draws random numbers.
    bool amplified = false;
  };
  /// Describes the first step or pass that is wrong, with the smallest model that shows it.
  struct Fault {
    /// Names what kind of thing is at fault.
    enum class Kind : uint8_t {
      pass,    // a patch of a graph pass, or a lowering pass, changes what is computed
      kernel,  // a kernel differs from the reference on the same inputs
      fusion,  // elementwise operators done in one step with others
      memory   // each step is right on its own, but one overwrites values of another
    };
    Kind kind = Kind::kernel;                           // which of these it is
    Diagnostic diagnostic;                              // the fault as an error, Code::internal
    std::string shapes, values;                         // as in Trial
    OptimizationLevel level = OptimizationLevel::none;  // lowest level that shows it
    /// The culprit, where it is one of these, and what the patch did. With a kernel, the lowering pass before
    /// which nothing uses it.
    std::string pass, reason, kernel;
    std::vector<std::string> nodes;  // names of the nodes at fault, or that the pass changed
    onnx::Model reproduction;        // smallest model found that still fails, of standard operators
    bool confirmed = false;          // true where the reproduction, built again, does fail
    std::vector<std::pair<std::string, Value>> inputs;    // inputs of the reproduction, in order
    std::vector<std::pair<std::string, Value>> expected;  // outputs of the reference for them
    double atol = 0, rtol = 0;                            // tolerances with which a comparison shows it
  };
  std::vector<Trial> trials;         // all comparisons that were made
  std::vector<std::string> untried;  // shapes that were not compared, and why: "batch=17: …"
  std::optional<Fault> fault;        // nothing: all comparisons agree
};

/// Compares every level of optimization, and every kernel and fused step in it, with the reference backend,
/// on several shapes and kinds of values; stops at the first difference beyond the tolerance
/// (docs/internals/verify.md) that a pass or step causes. Throws as Engine::build does; what the reference
/// finds in recorded inputs; cancelled; bad_argument or deadline where nothing could be compared.
/// Thread-safe.
LATHE_API VerifyReport verify(const onnx::Model& model, const VerifyOptions& options = {});

/// Writes reproduce.onnx, input_0.npy … and expected_0.npy … into the directory, which is created, for `lathe
/// run reproduce.onnx --inputs DIR --expect DIR`. Values that .npy cannot hold are written as .pb or .json.
/// Throws file_write_failed.
LATHE_API void save_reproduction(const VerifyReport::Fault& fault, const std::filesystem::path& directory);

/// Returns the name: "pass", "kernel", "fusion", "memory".
LATHE_API std::string_view name_of(VerifyReport::Fault::Kind kind);

}  // namespace lathe
