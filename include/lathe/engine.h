// Building and running: a model becomes an Engine (immutable, shared), which makes Contexts (cheap, one
// thread each).
//
//   auto engine = lathe::Engine::build("model.onnx");
//   auto context = engine.create_context();
//   auto outputs = context.run({{"x", lathe::Tensor::from<float>({1, 3}, std::vector<float>{1, 2, 3})}});
//
// An engine's weights can be exchanged while it serves: lathe/refit.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/dim.h"
#include "lathe/error.h"
#include "lathe/onnx.h"
#include "lathe/profile.h"
#include "lathe/value.h"

namespace lathe {

/// Carries cancellation and a deadline from the caller to a load, a build or a run, which throws within 50 ms
/// of either. Thread-safe; the object must outlive the call that it is given to.
class LATHE_API RunControl {
 public:
  /// Makes the calls that have this object throw Code::cancelled; it stays so until reset().
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Withdraws cancel(). A deadline stays.
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  /// Makes the calls that have this object throw Code::deadline once the clock reads `t`.
  void set_deadline(std::chrono::steady_clock::time_point t) {
    deadline_.store(t.time_since_epoch().count());
  }
  /// Removes the deadline.
  void clear_deadline() { deadline_.store(INT64_MAX); }
  /// Returns whether cancel() was called, and reset() was not since.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// Throws Code::cancelled after cancel(), Code::deadline after the deadline, and returns otherwise.
  void check() const;

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> deadline_{INT64_MAX};
};

/// Lends the library somebody else's threads instead of its own pool (BuildOptions::executor). An engine's
/// contexts may call it from several threads at once.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Returns how many tasks may run at the same time; an engine has so many threads (at least one).
  virtual int concurrency() const = 0;
  /// Runs `task(i)` once for every i in [0, n), in any order and on any threads, and returns when all are
  /// done. Tasks throw nothing.
  virtual void run(int n, const std::function<void(int)>& task) = 0;
};

/// Selects how much of the graph optimizer runs; each level contains those before it. All levels give the
/// same results within the operators' numeric tolerances, and an optimized graph consists of standard
/// operators. ONNX Runtime: GraphOptimizationLevel.
enum class OptimizationLevel : uint8_t {
  none,      // the graph as imported; constants are folded all the same
  basic,     // rewrites that hold whatever comes after: identities, repeated work, chains of casts and
             // movements, folding into weights
  extended,  // composed patterns become the operators they spell (Gelu, LayerNormalization, …)
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

/// Bounds the shape of one input: `min`, `opt` and `max` have its rank, each size of a run lies between `min`
/// and `max`, and `opt` is the likeliest. TensorRT: OptProfileSelector.
struct ShapeRange {
  Shape min, opt, max;  // sizes, axis by axis
  friend bool operator==(const ShapeRange&, const ShapeRange&) = default;
};
/// Names the shapes that an engine is built for, input by input. Inputs that are left out keep the shapes
/// that the model declares, with their symbols' sizes from the other inputs. TensorRT: IOptimizationProfile.
struct ShapeProfile {
  std::string name;                                       // unique among an engine's profiles
  std::map<std::string, ShapeRange, std::less<>> inputs;  // ranges by the input's name
  /// Sets or replaces the range of an input and returns this profile. Nothing is checked before the build.
  /// TensorRT: IOptimizationProfile::setDimensions.
  ShapeProfile& set_shape(std::string_view input, Shape min, Shape opt, Shape max) {
    inputs.insert_or_assign(std::string(input), ShapeRange{std::move(min), std::move(opt), std::move(max)});
    return *this;
  }
  /// Returns the range of an input, or null where the profile leaves it out.
  const ShapeRange* get_shape(std::string_view input) const {
    const auto at = inputs.find(input);
    return at == inputs.end() ? nullptr : &at->second;
  }
  friend bool operator==(const ShapeProfile&, const ShapeProfile&) = default;
};

/// Selects how much a build measures instead of guessing which kernel is fastest (docs/tuning.md).
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
  /// rewrite for this machine: few-bits-products, quantized-layout, quantized-products, blocked-layout,
  /// convolution-pairs, scaled-inputs, short-images.
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
  /// Called with the stage ("load", "import", "optimise", "plan") and the fraction done; where it returns
  /// false the build throws Code::cancelled. TensorRT: IProgressMonitor.
  std::function<bool(std::string_view stage, double fraction)> progress = {};
};

/// Counts what tuning did while an engine was built. A problem is an operator with its attributes, types and
/// shapes; one problem may stand for many steps, or for none of them where it decided a tensor format.
struct TuningReport {
  int64_t problems = 0;  // all: timed + cached + untimed
  int64_t timed = 0;     // measured by this build
  int64_t cached = 0;    // found in the timing cache
  int64_t untimed = 0;   // left to heuristics: no time was left, or no kernel ran
  double seconds = 0;    // that timing took
};

/// Describes one input or output of an engine.
struct IoInfo {
  std::string name;                             // as in the model
  std::string type;                             // ONNX's notation: "tensor(float)", "seq(tensor(int64))"
  DataType element_type = DataType::undefined;  // undefined where it is no tensor
  std::optional<SymShape> shape;                // sizes with symbols; nothing: the rank is unknown
  bool optional = false;                        // true for an input that has a default
};

/// Breaks down the bytes that one run of a fresh context holds (Engine::memory). TensorRT:
/// ICudaEngine::getDeviceMemorySizeV2.
struct MemoryInfo {
  uint64_t weights = 0;      // stored arrays of the engine, mapped or packed; all contexts share them
  uint64_t activations = 0;  // memory plan of one context at these shapes
  uint64_t workspace = 0;    // scratch memory of kernels
  uint64_t outputs = 0;      // outputs that the caller did not bind: kept by the context or returned
  /// An upper bound of values whose sizes only the data decide, and of the reference kernels' scratch memory.
  uint64_t data_dependent = 0;
  /// Names the values that are not counted since nothing bounds them before the run: values of any size that
  /// the data decide, strings, sequences, and values in bodies whose input shapes are unknown.
  std::vector<std::string> uncounted;
  /// Heap memory for a context's records of its values, its steps and these shapes. Neither limits nor
  /// memory_peak() nor total() count it.
  uint64_t records = 0;
  /// Returns the sum of the counted bytes; `records` are not in it.
  uint64_t total() const { return weights + activations + workspace + outputs + data_dependent; }
};

/// Tells which instructions an engine's kernels use, and which part of its plan they were taken from.
struct TargetInfo {
  std::string isa;        // "generic", "avx2", "avx512"
  std::string built_for;  // target of the build; at most `isa` unless the section is "portable"
  /// "native": kernels and packed weights are used as they were built. "portable": they were chosen and
  /// packed again when the plan was opened, since it was built for more than this machine has or
  /// BuildOptions::isa allows.
  std::string section;
};

/// Maps names of inputs or outputs to values.
using NamedValues = std::map<std::string, Value, std::less<>>;
/// Maps names of inputs or outputs to shapes.
using NamedShapes = std::map<std::string, Shape, std::less<>>;

/// Describes one step of a built engine, for tables and `lathe inspect`.
struct StepInfo {
  /// The measured time of one tactic: a kernel, with its tunables in brackets where it has some.
  struct Timing {
    std::string tactic;       // "conv.avx2", "blocked_conv.winograd4.avx2 [65536]"
    double microseconds = 0;  // time of one run on one thread, without fused operators
  };
  /// Its node's name, ONNX operator, kernel (empty: a copy between devices) and device.
  std::string node, op, kernel, backend;
  std::vector<std::string> origin;    // names of the model's nodes that the step comes from
  std::vector<std::string> refusals;  // "softmax.avx512: only float32"
  std::vector<std::string> fused;     // elementwise operators computed in the same step: "Add", "Relu"
  std::vector<std::string> unfused;  // why adjacent operators are not fused: "Add: its input x is read twice"
  std::vector<int64_t> tunables = {};  // values of the kernel's tunables; empty: it has none
  std::vector<Timing> timings = {};    // measured tactics: the chosen one first, then by time
  /// How the kernel differs in an engine of strict numerics; empty: it does not.
  std::string strict = {};
  /// How much copying the memory plan avoids: "copies nothing" (a Concat whose inputs are computed at their
  /// places in its output), "copies 1 of 3 parts", "writes over x". Empty: none, or not known before a run;
  /// it is known in the main graph of an engine whose input shapes are all fixed.
  std::string memory = {};
};

/// Describes one executed step to the listener of Context::on_step; the names are valid during the call.
struct StepRun {
  std::string_view node, op, kernel;  // `kernel` is empty for a copy between devices
  double seconds = 0;  // wall time, without the steps of bodies, which are reported on their own
};

class Context;
class EngineInspector;

/// A model compiled for this machine, ready to run. Thread-safe and cheap to copy: copies share everything.
/// Immutable except for the values of its weights, which a Refitter exchanges for all copies and contexts
/// alike. TensorRT: ICudaEngine.
class LATHE_API Engine {
 public:
  /// Builds an engine from an ONNX file or model: imports it, optimizes the graph, folds constants, chooses a
  /// kernel for each operator (timing them where `effort` says so), plans memory and packs weights. All
  /// weights are read, and most are packed; tuning adds up to about `tune_seconds`. The model may be changed
  /// or freed afterwards. Several threads may build at the same time.
  ///
  /// Throws, for the file, file_*, wire_*, text_syntax, json_malformed and external_*; for the model,
  /// model_*, tensor_*, sparse_*, graph_*, function_* and node_*; for options, build_bad_option,
  /// build_device_absent and build_plugin_failed; where an operator cannot run as asked, build_no_kernel,
  /// build_reference_forbidden, build_untimed and component_absent; run_out_of_memory; cancelled and
  /// deadline. TensorRT: IBuilder::buildSerializedNetwork; ONNX Runtime: InferenceSession.
  static Engine build(const std::filesystem::path& model, const BuildOptions& options = {});
  static Engine build(const onnx::Model& model, const BuildOptions& options = {});
  /// Opens a .lathe plan that save() wrote; weights stay mapped to the file. It reads the options `threads`,
  /// `executor`, `flush_denormals`, `memory_limit`, `isa`, `plugins`, `control`, `load.untrusted` and
  /// `verify_weights`. Throws file_*, plan_malformed, plan_version, plan_target, plan_missing_kernel,
  /// build_bad_option, build_device_absent, build_plugin_failed, build_no_kernel, run_out_of_memory,
  /// cancelled, deadline; with verify_weights plan_damaged, which names the first damaged array. TensorRT:
  /// IRuntime::deserializeCudaEngine.
  static Engine load(const std::filesystem::path& plan, const BuildOptions& options = {});
  /// Writes the plan beside the file and renames it, so that no reader sees a part of it. Throws
  /// file_write_failed.
  void save(const std::filesystem::path& plan) const;
  /// Returns the bytes that save() would write. TensorRT: ICudaEngine::serialize.
  std::vector<std::byte> serialize() const;
  /// Opens a plan from the bytes that serialize() returned, which are copied. Options and errors are those of
  /// load().
  static Engine deserialize(std::span<const std::byte> plan, const BuildOptions& options = {});

  /// Returns the inputs in the model's order, those with defaults included. The reference stays valid as long
  /// as the engine.
  const std::vector<IoInfo>& inputs() const;
  /// Returns the outputs in the model's order. The reference stays valid as long as the engine.
  const std::vector<IoInfo>& outputs() const;
  /// Returns the names of the symbols in the inputs' shapes.
  std::vector<std::string> symbols() const;
  /// Returns the model's metadata_props as keys and values.
  std::vector<std::pair<std::string, std::string>> metadata() const;
  /// Returns the steps in the order in which they run, those of the main graph first and then those of each
  /// body.
  std::vector<StepInfo> steps() const;
  /// Returns the number of threads on which one run computes.
  int threads() const;
  /// Returns BuildOptions::numerics of the build.
  Numerics numerics() const;
  /// Returns the profiles that the engine was built with.
  const std::vector<ShapeProfile>& profiles() const;
  /// Returns the tuning report of the build; all 0 for an engine that was loaded from a plan.
  const TuningReport& tuning() const;
  /// Returns the instruction set in use and where the kernels came from.
  TargetInfo target() const;
  /// Returns whether it was built with BuildOptions::refit. TensorRT: ICudaEngine::isRefittable.
  bool is_refittable() const;
  /// Returns how often its weights have been exchanged since it was built or loaded.
  uint64_t refits() const;
  /// Returns the steps with their bytes and arithmetic at these input shapes (lathe/inspector.h). TensorRT:
  /// ICudaEngine::createEngineInspector.
  EngineInspector inspect(const NamedShapes& input_shapes = {}) const;

  /// Returns the peak bytes that the library's allocators hold in one run of a fresh context at these input
  /// shapes. Exact where all shapes follow from those of the inputs and `data_dependent` is 0; otherwise an
  /// upper bound, with all branches of an If together, that lacks the values in `uncounted`. Runs into bound
  /// memory may hold less. Throws bad_argument, which names missing symbols; run_bad_input for unknown names;
  /// run_bad_shape.
  MemoryInfo memory(const NamedShapes& input_shapes) const;
  /// Returns what a context holds after reserve(profile): memory() at its greatest sizes, or more where
  /// smaller ones take more. Throws bad_argument where there is no such profile.
  MemoryInfo profile_memory(std::string_view profile) const;
  /// Returns the shapes of the outputs for these input shapes; outputs whose shapes only the data decide are
  /// left out. Throws as memory() does.
  NamedShapes output_shapes(const NamedShapes& input_shapes) const;

  /// Makes the working memory for one run at a time. Where every input has a single shape and memory is not
  /// limited, the memory of a run is allocated and its pages are touched now, so that the first run waits for
  /// none; otherwise the first run allocates it. TensorRT: ICudaEngine::createExecutionContext.
  Context create_context() const;

  /// Gives memory back that can be had again at no loss: the pages of mapped files (a plan's arrays, a
  /// model's weights), which return from the page cache when a run touches them. Thread-safe.
  void trim() const;

  struct Impl;
  struct State;
  /// Returns the current state, for the library's own use; a refit replaces it.
  std::shared_ptr<const Impl> impl() const;

 private:
  explicit Engine(std::shared_ptr<State> s) : state_(std::move(s)) {}
  friend struct EngineAccess;
  std::shared_ptr<State> state_;
};

/// Working memory for one run of an engine at a time. Movable, not thread-safe: make one for each thread.
/// After a refit the next run uses the new weights; a reserved profile stays reserved, and a profile that is
/// being recorded begins anew. TensorRT: IExecutionContext.
class LATHE_API Context {
 public:
  /// Moves; only destruction and assignment are allowed on what is left.
  Context(Context&&) noexcept;
  /// Moves; what this context held before is freed.
  Context& operator=(Context&&) noexcept;
  /// Frees its memory; tensors that were returned stay valid.
  ~Context();

  /// Runs with inputs by name and returns all outputs by name; inputs with defaults may be left out. Returned
  /// tensors own their memory. Throws run_missing_input, run_bad_input (unknown name, wrong type),
  /// run_bad_shape; run_bad_index, run_bad_value, run_too_large and others for what an operator finds in the
  /// data; run_memory_limit, run_out_of_memory; cancelled, deadline; bad_argument while another run of this
  /// context is going on. The context stays usable.
  NamedValues run(const NamedValues& inputs, RunControl* control = nullptr);
  /// Runs with inputs and outputs by position, in the order of Engine::inputs() and outputs(); an
  /// empty Value takes the default.
  std::vector<Value> run(std::span<const Value> inputs, RunControl* control = nullptr);

  /// Binds an input that run(control) reads until it is bound again; the tensor's memory is neither copied
  /// nor checked before the run. Throws run_bad_input for an unknown name. TensorRT:
  /// IExecutionContext::setTensorAddress.
  void bind_input(std::string_view name, Value v);
  /// Binds memory that run(control) writes an output to; it must have the shape that the run gives the
  /// output. An undefined Tensor unbinds it. Throws run_bad_input for an unknown name or another element
  /// type.
  void bind_output(std::string_view name, Tensor t);
  /// Runs with the bound inputs and outputs; once shapes have been seen it neither copies nor allocates.
  /// Throws as the other forms of run() do, and run_bad_shape for bound memory of another shape.
  void run(RunControl* control = nullptr);
  /// Returns an output of the last run(control): bound memory, or the context's own, which is valid until the
  /// next run. Throws run_bad_input for an unknown name, bad_argument for an index out of range.
  const Value& output(std::string_view name) const;
  const Value& output(size_t i) const;

  /// Makes the next runs call `listener` with each tapped inner value (BuildOptions::taps) under its name in
  /// the file; values in bodies of If, Loop and Scan are reported each time that they are computed. The
  /// outputs' bits stay the same. TensorRT: IDebugListener.
  void on_tap(std::function<void(std::string_view name, const Value& value)> listener);
  /// Makes the next runs call `listener` after every step, with its time; null ends it. TensorRT: IProfiler.
  void on_step(std::function<void(const StepRun& step)> listener);
  /// Records every step of the next runs, those of bodies too, and drops what was recorded before. Each step
  /// costs one reading of a clock and some stores (docs/profiling.md); nothing is allocated while runs have
  /// known shapes. After the first thousand runs, where steps take little longer than that, some runs are
  /// passed over so that recording stays under 2 % of the time (Profile::runs_passed_over counts them).
  /// `events`, from 1 to 2^26, is the number of latest executions to keep, at 64 bytes each; sums are over
  /// all that were recorded. Throws bad_argument, run_out_of_memory.
  void start_profile(size_t events = size_t{1} << 16);
  /// Ends the recording; profile() still returns it.
  void stop_profile();
  /// Returns what was recorded until now; it is empty before the first start_profile().
  Profile profile() const;
  /// Returns the bytes that this context's allocators hold now; a recorded profile is not counted.
  uint64_t memory_in_use() const;
  /// Returns the most bytes that they held since the context was made.
  uint64_t memory_peak() const;
  /// Allocates now what runs within a profile need, outputs that are not bound included. Until trim() such
  /// runs allocate no more, whatever their shapes, except for sizes that only the data decide and for tensors
  /// that they return. Throws bad_argument where there is no such profile or where inputs that it leaves out
  /// have no known shape; run_memory_limit, run_out_of_memory.
  void reserve(std::string_view profile);
  /// Frees all memory that is kept between runs: arenas, caches, memory plans and outputs. The next run
  /// allocates what it needs. Throws bad_argument while a run is going on.
  void trim();

  struct Impl;

 private:
  friend class Engine;
  explicit Context(std::unique_ptr<Impl> i);
  std::unique_ptr<Impl> impl_;
};

/// Makes the tables of operators and kernels that all engines of a process share and detects the processor's
/// features, which the first engine would do otherwise: some two milliseconds, once. The Python module calls
/// it when it is imported. Thread-safe; further calls do nothing.
LATHE_API void initialize();

}  // namespace lathe
