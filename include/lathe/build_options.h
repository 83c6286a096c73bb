// Options of builds: optimization, precision, memory, shapes, tuning, devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/executor.h"
#include "lathe/onnx.h"
#include "lathe/run_control.h"
#include "lathe/shape_profile.h"

namespace lathe {

/// Selects how much of the graph optimizer runs; each level contains those before it. All levels give the
/// same results within the operators' numeric tolerances, and an optimized graph consists of standard
/// operators. ONNX Runtime: GraphOptimizationLevel.
enum class OptimizationLevel : uint8_t {
  none,      // the graph as imported; constants are folded all the same
  basic,     // rewrites that hold whatever comes after: identities, repeated work, chains of casts and
             // movements, folding into weights
  extended,  // composed patterns become the operators they compute (Gelu, LayerNormalization, …)
  all,       // everything
};
/// Holds all levels, the lowest first.
inline constexpr OptimizationLevel optimization_levels[] = {
    OptimizationLevel::none, OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::all};
/// Returns the name that the command line and Python use: "none", "basic", "extended", "all".
constexpr std::string_view name_of(OptimizationLevel level) {
  constexpr std::string_view names[] = {"none", "basic", "extended", "all"};
  return names[static_cast<size_t>(level)];
}

/// Selects the type in which products with constant weights are computed. bfloat16 keeps 8 bits of each
/// factor and accumulates in float32: it needs half of the weights' memory, and as little as half of the time
/// where the processor has instructions for it.
enum class Precision : uint8_t { float32, bfloat16 };
/// Holds all precisions.
inline constexpr Precision precisions[] = {Precision::float32, Precision::bfloat16};
/// Returns the name that the command line and Python use: "float32", "bfloat16".
constexpr std::string_view name_of(Precision p) { return p == Precision::float32 ? "float32" : "bfloat16"; }

/// Selects what the bits of a result may depend on. Neither lets them depend on the number of threads.
enum class Numerics : uint8_t {
  normal,  // depend on all shapes: a few rows are summed in another order than many
  strict,  // do not depend on the batch size: each item has the results that it would have alone
};
/// Holds both.
inline constexpr Numerics all_numerics[] = {Numerics::normal, Numerics::strict};
/// Returns the name that the command line and Python use: "normal", "strict".
constexpr std::string_view name_of(Numerics n) { return n == Numerics::normal ? "normal" : "strict"; }

/// Selects how much a build measures instead of guessing which kernel is fastest (docs/internals/tuning.md).
enum class TuningEffort : uint8_t {
  none,    // measures nothing: heuristics choose
  normal,  // times the kernels of the best instruction set, and the tensor formats of images
  high,    // also times those of lesser instruction sets, with more repetitions
};
/// Holds all efforts, the lowest first.
inline constexpr TuningEffort tuning_efforts[] = {TuningEffort::none, TuningEffort::normal,
                                                  TuningEffort::high};
/// Returns the name that the command line and Python use: "none", "normal", "high".
constexpr std::string_view name_of(TuningEffort effort) {
  constexpr std::string_view names[] = {"none", "normal", "high"};
  return names[static_cast<size_t>(effort)];
}
class TimingCache;

/// Names an input, and the output that is its next value.
struct StatePair {
  std::string input, output;  // glob patterns: {"past_key_values.*", "present.*"}
  /// Type in which keys and values are kept that Attention alone reads and appends to: float32, float16,
  /// bfloat16, or int8, where the four bytes behind each row are its float32 scale. undefined: the model's.
  /// Throws Code::build_bad_state for states that are made or read otherwise.
  DataType type = DataType::undefined;
  /// Number of indices along its axis that a block of memory has, for states to which Attention appends:
  /// blocks are taken as a state grows, and clones of it share them. 0: the memory is in one piece, as that
  /// of other states is.
  int64_t block = 0;
};

/// Holds the options of Engine::build; Engine::load and deserialize read some of them. A plain value, checked
/// by the build: what is wrong with one throws Code::build_bad_option, or what the option itself names.
/// TensorRT: IBuilderConfig.
struct BuildOptions {
  int threads = 0;  // number of threads, at most 1024; 0: as many as cgroup quota and cpuset allow
  /// Names the device: "cpu", "reference" or one that a plug-in registered; with ":" it is a list of
  /// preferences, "npu:cpu". Throws Code::build_device_absent for another.
  std::string backend = "cpu";
  std::string isa = {};  // best instruction set to use: "generic", "avx2", "avx512"; "": this machine's
  /// Selects how much the graph optimizer does.
  OptimizationLevel level = OptimizationLevel::all;
  /// Switches single passes on ("+name") or off ("-name"), whatever the level. "-name" also switches off a
  /// lowering pass: low-bit-matmuls, quantized-layout, quantized-products, blocked-layout,
  /// channels-last, conv-depthwise-fusion, scaled-inputs, f16-activations, cache-updates.
  std::vector<std::string> passes = {};
  /// False: an operator without a fast kernel throws Code::build_reference_forbidden.
  bool allow_reference = true;
  Precision precision = Precision::float32;  // type in which products with constant weights are computed
  Numerics numerics = Numerics::normal;      // says what the bits of a result may depend on
  /// Lets weights be exchanged later (lathe/refit.h): no rewrite depends on their values, and saved plans
  /// keep the weights that others were computed from. TensorRT: BuilderFlag::kREFIT.
  bool refit = false;
  /// Makes saved plans keep the weights from before they were packed, too, so that the plan opens on machines
  /// without the instructions that it was built for. False: plans are smaller and open on machines like this
  /// one.
  bool portable = true;
  bool flush_denormals = false;  // makes runs treat denormal floats as zero
  /// Glob patterns of inner values, of bodies too, that Context::on_tap shall report.
  /// TensorRT: INetworkDefinition::markDebug.
  std::vector<std::string> taps = {};
  std::shared_ptr<Executor> executor = {};  // threads to use; null: the library's own pool
  /// Cancels the build or load, or bounds its time; null: nothing does. Used only during the call.
  RunControl* control = nullptr;
  /// Limits the bytes that one context may hold, outputs that it returns included; beyond it runs throw
  /// Code::run_memory_limit. 0: the limit of the process's control groups (SystemInfo::memory_limit), if any.
  /// TensorRT: IBuilderConfig::setMemoryPoolLimit.
  uint64_t memory_limit = 0;
  /// Limits constant folding: folded constants may take this many bytes more than the weights that they
  /// replace.
  uint64_t fold_limit = uint64_t{256} << 20;
  std::map<std::string, int64_t> shapes = {};  // sizes of symbols fixed at build, by symbol
  /// Turns inputs that have an initializer into constants: no run gives them another value, and what follows
  /// from them is computed and packed by the build. Exporters of IR version 4 often declare every weight an
  /// input.
  bool fix_defaults = false;
  /// Restricts the inputs to these profiles: those of a run must all be within one of them, else it throws
  /// Code::run_bad_shape, which names the input and its range. Kernels are chosen for, and timed with, the
  /// `opt` sizes of the first. At most 64, with different names.
  std::vector<ShapeProfile> profiles = {};
  /// Appends a profile and returns its index. TensorRT: IBuilderConfig::addOptimizationProfile.
  size_t add_optimization_profile(ShapeProfile profile) {
    profiles.push_back(std::move(profile));
    return profiles.size() - 1;
  }
  /// Makes these inputs states (lathe/state.h): what the run before made as the output stays where it is, in
  /// memory of the caller, and what a run appends or changes is written there. A pair of glob patterns stands
  /// for every input and output whose names agree in what the asterisks stand for; {"auto", ""} stands for
  /// all pairs that names and types show. Throws build_bad_state, naming the node, where an output is not its
  /// input with elements appended along one axis, written, or replaced, or where the old value is still read
  /// when the new one has been written; and where a pattern stands for nothing.
  std::vector<StatePair> states = {};
  /// Greatest length of states that grow, along the axis that does.
  int64_t state_capacity = 2048;
  TuningEffort effort = TuningEffort::none;  // selects how much the build measures
  double tune_seconds = 60;  // seconds after which heuristics choose whatever is not timed yet
  /// Sizes of symbols that stay free, by symbol: kernels are chosen for them, and timed with them, before
  /// what profiles say.
  std::map<std::string, int64_t> tune_sizes = {};
  /// Path of a JSON file of measured times. What it knows is not timed again, and what is timed is added to
  /// it; where it does not exist it is made. With effort none it is only read. TensorRT: ITimingCache.
  std::filesystem::path timing_cache = {};
  /// Measured times in memory, used instead of the file or besides it (lathe/timing_cache.h).
  std::shared_ptr<TimingCache> timings = {};
  /// Times and writes nothing; a problem that the cache lacks throws build_untimed.
  bool timing_cache_pinned = false;
  onnx::LoadOptions load = {};  // how Engine::build and load open the file
  /// Makes Engine::load compare all stored arrays with their checksums (plan_damaged).
  bool verify_weights = false;
  /// Shared libraries that bring devices or operators (lathe/backend.h).
  std::vector<std::filesystem::path> plugins = {};
  /// Called with the stage ("load", "import", "optimize", "plan") and the fraction done; where it returns
  /// false the build throws Code::cancelled. TensorRT: IProgressMonitor.
  std::function<bool(std::string_view stage, double fraction)> progress = {};
};

}  // namespace lathe
