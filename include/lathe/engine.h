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

/// Cancellation and a deadline, shared between the caller and a load or run. Thread-safe. Honoured within 50
/// ms.
class LATHE_API RunControl {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  void set_deadline(std::chrono::steady_clock::time_point t) {
    deadline_.store(t.time_since_epoch().count());
  }
  void clear_deadline() { deadline_.store(INT64_MAX); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// Throws Code::cancelled or Code::deadline.
  void check() const;

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> deadline_{INT64_MAX};
};

/// Somebody else's threads: runs `task(i)` for i in [0, n), in any order, and returns when all are done.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual int concurrency() const = 0;
  virtual void run(int n, const std::function<void(int)>& task) = 0;
};

/// How much of the optimiser runs; each level contains those before it. Every level gives the same answers
/// within the operators' numeric contracts, and an optimised graph is made of standard operators.
enum class OptimizationLevel : uint8_t {
  none,      // the graph as imported; constants are folded all the same
  basic,     // what holds whatever comes after: identities, repeated work, chains of casts and movements,
             // folding into weights
  extended,  // composed patterns become the operators they spell (Gelu, LayerNormalization, …)
  all,       // everything
};
inline constexpr OptimizationLevel optimization_levels[] = {
    OptimizationLevel::none, OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::all};
/// As the command line and Python write it: "none", "basic", "extended", "all".
constexpr std::string_view name_of(OptimizationLevel level) {
  constexpr std::string_view names[] = {"none", "basic", "extended", "all"};
  return names[static_cast<size_t>(level)];
}

/// What products with constant weights are calculated in. bfloat16 keeps 8 bits of each factor and adds up in
/// float32: half of the weights' memory, and up to half of the time where the processor has instructions for
/// it.
enum class Precision : uint8_t { float32, bfloat16 };
inline constexpr Precision precisions[] = {Precision::float32, Precision::bfloat16};
/// As the command line and Python write it: "float32", "bfloat16".
constexpr std::string_view name_of(Precision p) { return p == Precision::float32 ? "float32" : "bfloat16"; }

/// What the bits of a result may depend on. Neither ever lets them depend on the number of threads.
enum class Numerics : uint8_t {
  normal,  // on all shapes: a few rows are summed in another order than many
  strict,  // not on the size of the batch: each item's results are those it would have alone
};
inline constexpr Numerics all_numerics[] = {Numerics::normal, Numerics::strict};
/// As the command line and Python write it: "normal", "strict".
constexpr std::string_view name_of(Numerics n) { return n == Numerics::normal ? "normal" : "strict"; }

/// Which shapes an input may have: its rank, and on every axis a size from `min` to `max`, mostly `opt`.
struct ShapeRange {
  Shape min, opt, max;
  friend bool operator==(const ShapeRange&, const ShapeRange&) = default;
};
/// Shapes that an engine is made for, by input. Inputs that are left out have what the model declares, their
/// symbols the sizes that other inputs give them.
struct ShapeProfile {
  std::string name;
  std::map<std::string, ShapeRange, std::less<>> inputs;
  ShapeProfile& set_shape(std::string_view input, Shape min, Shape opt, Shape max) {
    inputs.insert_or_assign(std::string(input), ShapeRange{std::move(min), std::move(opt), std::move(max)});
    return *this;
  }
  /// Null: the profile leaves the input out.
  const ShapeRange* get_shape(std::string_view input) const {
    const auto at = inputs.find(input);
    return at == inputs.end() ? nullptr : &at->second;
  }
  friend bool operator==(const ShapeProfile&, const ShapeProfile&) = default;
};

/// How much a build measures instead of guessing which kernel is fastest; see docs/internals/tuning.md.
enum class TuningEffort : uint8_t {
  none,    // nothing: rules of thumb choose
  normal,  // kernels for the best instruction set, and the layout of images
  high,    // those for lesser instruction sets too, with more repetitions
};
inline constexpr TuningEffort tuning_efforts[] = {TuningEffort::none, TuningEffort::normal,
                                                  TuningEffort::high};
/// As the command line and Python write it: "none", "normal", "high".
constexpr std::string_view name_of(TuningEffort effort) {
  constexpr std::string_view names[] = {"none", "normal", "high"};
  return names[static_cast<size_t>(effort)];
}

class TimingCache;

struct BuildOptions {
  int threads = 0;  // 0: from cgroup quota and cpuset, see `lathe info`
  std::string backend =
      "cpu";             // "cpu", "reference", or a registered one; with ":" a preference list "npu:cpu"
  std::string isa = {};  // "", "generic", "avx2", "avx512": the best that may be used
  OptimizationLevel level = OptimizationLevel::all;
  /// "+name", "-name": switches single passes, against the level. "-name" also leaves out a rewrite for this
  /// machine: few-bits-products, quantized-layout, quantized-products, blocked-layout, convolution-pairs,
  /// scaled-inputs, short-images.
  std::vector<std::string> passes = {};
  bool allow_reference =
      true;  // false: an operator without a fast kernel is an error (build_reference_forbidden)
  Precision precision = Precision::float32;  // of products with constant weights
  Numerics numerics = Numerics::normal;
  /// Weights may be exchanged later (lathe/refit.h): no rewrite depends on what they hold, and saved plans
  /// keep those that others were made of.
  bool refit = false;
  /// A saved plan also holds what its kernels were given before they packed it, so that it opens on machines
  /// without the instructions that it was built for. False: smaller files, for machines like this one.
  bool portable = true;
  bool flush_denormals = false;
  std::vector<std::string> taps =
      {};  // glob patterns of inner values, of bodies too, that a run may be asked for
  std::shared_ptr<Executor> executor = {};  // null: the library's own quiet pool
  RunControl* control = nullptr;
  /// Bytes one context may hold, what it returns included; 0: what the process's control groups allow, where
  /// they limit it (SystemInfo::memory_limit).
  uint64_t memory_limit = 0;
  /// Bytes that what constant folding makes may have more than the weights it takes the place of.
  uint64_t fold_limit = uint64_t{256} << 20;
  std::map<std::string, int64_t> shapes = {};  // symbols fixed at build
  /// Inputs that an initializer gives a default are constants: no run gives them another value, and what
  /// follows from them is computed and packed beforehand. Exporters of IR version 4 often declare every
  /// weight an input.
  bool fix_defaults = false;
  /// With any, inputs must be within one of them, all together (run_bad_shape names the input and its range).
  /// What kernels are chosen by and timed with are the `opt` sizes of the first. At most 64.
  std::vector<ShapeProfile> profiles = {};
  /// Returns its index.
  size_t add_optimization_profile(ShapeProfile profile) {
    profiles.push_back(std::move(profile));
    return profiles.size() - 1;
  }
  TuningEffort effort = TuningEffort::none;
  double tune_seconds = 60;  // after which nothing more is timed; rules of thumb choose the rest
  /// Of symbols that stay free: what kernels are chosen by and timed with; goes before what profiles say.
  std::map<std::string, int64_t> tune_sizes = {};
  /// A JSON file of measured times: what it knows is not timed again, what is timed is added (made where
  /// there is none). With effort none it is read only.
  std::filesystem::path timing_cache = {};
  /// The same in memory, by itself or besides the file (lathe/timing_cache.h).
  std::shared_ptr<TimingCache> timings = {};
  bool timing_cache_pinned = false;  // nothing is timed or written; what the file lacks is build_untimed
  onnx::LoadOptions load = {};
  bool verify_weights = false;  // Engine::load: holds every stored array against its checksum (plan_damaged)
  std::vector<std::filesystem::path> plugins = {};  // shared libraries that bring backends or operators
  std::function<bool(std::string_view stage, double fraction)> progress = {};  // return false to cancel
};

/// What tuning did while an engine was built. A problem is an operator with its attributes, types and shapes;
/// it may stand for many steps, or for none of them where the layout was decided by it.
struct TuningReport {
  int64_t problems = 0;  // timed + cached + untimed
  int64_t timed = 0;     // now
  int64_t cached = 0;    // known from the timing cache
  int64_t untimed = 0;   // left to rules of thumb: no time was left, or no kernel ran
  double seconds = 0;
};

/// One input or output of an engine.
struct IoInfo {
  std::string name;
  std::string type;                             // "tensor(float)", "seq(tensor(int64))" …: ONNX's words
  DataType element_type = DataType::undefined;  // undefined when it is not a tensor
  std::optional<SymShape> shape;                // nothing: rank unknown
  bool optional = false;                        // an input with a default
};

struct MemoryInfo {
  uint64_t weights = 0;      // stored arrays of the engine, mapped or packed, shared by all contexts
  uint64_t activations = 0;  // planned arena of one context at these shapes
  uint64_t workspace = 0;    // kernels' scratch
  uint64_t outputs = 0;      // outputs not bound by the caller: kept by the context, or returned
  uint64_t data_dependent =
      0;  // at most: values whose sizes only the data decide, reference kernels' scratch
  /// Values that are not counted, by name, since nothing bounds them before the run: of any size that the
  /// data decide, strings, sequences, and what bodies of unknown input shapes compute.
  std::vector<std::string> uncounted;
  /// What a context keeps of its values, steps and these shapes, on the heap: no part of what is limited, nor
  /// of memory_peak() or total().
  uint64_t records = 0;
  uint64_t total() const { return weights + activations + workspace + outputs + data_dependent; }
};

/// Which instructions an engine's kernels use, and which part of its plan they were taken from.
struct TargetInfo {
  std::string isa;        // "generic", "avx2", "avx512"
  std::string built_for;  // what the plan was built for; at most `isa` unless the section is "portable"
  /// "native": kernels and packed weights as they were built. "portable": chosen and packed again when the
  /// plan was opened, since it was built for more than this machine has, or than BuildOptions::isa allows.
  std::string section;
};

using NamedValues = std::map<std::string, Value, std::less<>>;
using NamedShapes = std::map<std::string, Shape, std::less<>>;

/// What one step of a finished engine is, for tables and `inspect`.
struct StepInfo {
  /// A kernel, with its tunables where it was told some: "conv.avx2", "winograd.avx2 [65536]".
  struct Timing {
    std::string tactic;
    double microseconds = 0;  // of one run on one thread, without what is fused
  };
  std::string node, op, kernel, backend;
  std::vector<std::string> origin;
  std::vector<std::string> refusals;   // "softmax.avx512: only float32"
  std::vector<std::string> fused;      // elementwise operators done in the same step: "Add", "Relu"
  std::vector<std::string> unfused;    // why neighbours are not: "Add: its input x is read twice"
  std::vector<int64_t> tunables = {};  // what the kernel was told; empty: nothing
  std::vector<Timing> timings = {};    // measured, the tactic that was taken first, then the fastest
  /// What its kernel does in an engine of strict numerics that it would not do else; empty: nothing.
  std::string strict = {};
  /// What it is spared by where its operands lie: "copies nothing" (a Concat whose inputs are made in their
  /// places in its output), "copies 1 of 3 parts", "writes over x"; empty: nothing, or not known before a
  /// run: it is told of the main graph, where the shapes of all inputs are fixed.
  std::string memory = {};
};

/// One step of a run, as Context::on_step tells it; the names are valid during the call.
struct StepRun {
  std::string_view node, op, kernel;  // no kernel: a copy between memory spaces
  double seconds = 0;                 // without the steps of its bodies, which are told on their own
};

class Context;
class EngineInspector;

/// Thread-safe, cheap to copy (shares). Immutable but for what its weights hold (Refitter), which changes for
/// all copies and contexts alike.
class LATHE_API Engine {
 public:
  static Engine build(const std::filesystem::path& model, const BuildOptions& options = {});
  static Engine build(const onnx::Model& model, const BuildOptions& options = {});
  /// A .lathe plan; of the options those of the run count, and `isa`, `plugins`, `load` and `verify_weights`.
  /// Throws file_*, plan_*; with verify_weights plan_damaged, told the first array that is.
  static Engine load(const std::filesystem::path& plan, const BuildOptions& options = {});
  void save(const std::filesystem::path& plan) const;
  /// The bytes that save() would write.
  std::vector<std::byte> serialize() const;
  /// An engine from such bytes, which are copied. Options and errors as of load().
  static Engine deserialize(std::span<const std::byte> plan, const BuildOptions& options = {});

  const std::vector<IoInfo>& inputs() const;
  const std::vector<IoInfo>& outputs() const;
  /// Names of the symbols in the input shapes.
  std::vector<std::string> symbols() const;
  std::vector<std::pair<std::string, std::string>> metadata() const;
  std::vector<StepInfo> steps() const;
  int threads() const;
  Numerics numerics() const;
  /// As the engine was built with them.
  const std::vector<ShapeProfile>& profiles() const;
  /// Of the build that made it; all 0 where it was loaded from a plan.
  const TuningReport& tuning() const;
  TargetInfo target() const;
  /// Was it built with BuildOptions::refit?
  bool is_refittable() const;
  /// How often its weights have been exchanged since it was built or loaded.
  uint64_t refits() const;
  /// What its steps are, with bytes and arithmetic at these input shapes (lathe/inspector.h).
  EngineInspector inspect(const NamedShapes& input_shapes = {}) const;

  /// Peak bytes that our allocators will hold in one run of a fresh context at these input shapes (missing
  /// symbols: bad_argument names them). Exact where all shapes follow from the inputs' and `data_dependent`
  /// is 0. Else an upper bound, all branches of an If together, of all but the values in `uncounted`; not
  /// exact either for runs into bound memory.
  MemoryInfo memory(const NamedShapes& input_shapes) const;
  /// What a context holds that was reserved for a profile: memory() for its greatest sizes, or more where
  /// lesser ones take more. Throws bad_argument where there is no such profile.
  MemoryInfo profile_memory(std::string_view profile) const;
  /// Shapes of the outputs for these input shapes; an output that only the data decide is left out.
  NamedShapes output_shapes(const NamedShapes& input_shapes) const;

  /// Where each input has but one shape and memory is not limited, what a run needs is taken now, and its
  /// pages are supplied: the first run waits for none. Else the first run takes it.
  Context create_context() const;

  /// Lets go of what can be had again at no loss: the pages of mapped files (a plan's arrays, a model's
  /// weights), which come back from the page cache when a run touches them. Thread-safe.
  void trim() const;

  struct Impl;
  struct State;
  /// As it is now: a refit makes another one.
  std::shared_ptr<const Impl> impl() const;

 private:
  explicit Engine(std::shared_ptr<State> s) : state_(std::move(s)) {}
  friend struct EngineAccess;
  std::shared_ptr<State> state_;
};

/// Working memory for one run at a time. Movable; use one per thread. Weights that were exchanged (Refitter)
/// are those of the next run; a profile that was reserved stays so, one that is recorded begins anew.
class LATHE_API Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Runs with inputs by name; returns all outputs by name. Returned tensors own their memory.
  NamedValues run(const NamedValues& inputs, RunControl* control = nullptr);
  /// By position.
  std::vector<Value> run(std::span<const Value> inputs, RunControl* control = nullptr);

  /// Caller-owned buffers: used by `run()` until bound again. An output bound must have the shape the run
  /// gives it; it may be bound by name with an undefined Tensor to be unbound. No copies, no allocations.
  void bind_input(std::string_view name, Value v);
  void bind_output(std::string_view name, Tensor t);
  void run(RunControl* control = nullptr);
  /// An output after `run()`: bound memory, or the context's own, valid until the next run.
  const Value& output(std::string_view name) const;
  const Value& output(size_t i) const;

  /// Calls back with every tapped inner value of the next runs, under its name in the file; those of bodies
  /// (If, Loop, Scan) each time that they run. Does not change the outputs.
  void on_tap(std::function<void(std::string_view name, const Value& value)> listener);
  /// Calls back after every step of the next runs, with its time. Null: no longer.
  void on_step(std::function<void(const StepRun& step)> listener);
  /// Records every step of the next runs, those of bodies too, and forgets what was recorded before. Costs a
  /// reading of a clock and some stores a step (docs/guide/profile.md); nothing is allocated while known
  /// shapes run. After the first thousand runs, of networks whose steps take little longer than that, only so
  /// many are recorded that it stays under 2 % of the time (Profile::runs_passed_over says how many were
  /// not). `events`, from 1 to 2^26: executions kept, the latest, 64 bytes each; sums are over all that were.
  void start_profile(size_t events = size_t{1} << 16);
  /// Records no longer; profile() still tells what there is.
  void stop_profile();
  /// What was recorded until now. Empty before the first start_profile().
  Profile profile() const;
  /// Bytes held now and at most since creation by this context's allocators; not those of a profile.
  uint64_t memory_in_use() const;
  uint64_t memory_peak() const;
  /// Takes the memory now that runs within a profile need, outputs that are not bound included: until trim()
  /// they take no more, whatever their shapes, but for what only the data decide and for tensors that they
  /// return. Throws bad_argument where there is no such profile, or where inputs that it leaves out have no
  /// known shape; run_memory_limit, run_out_of_memory.
  void reserve(std::string_view profile);
  /// Gives all memory back that is kept between runs: arenas, caches, layouts and outputs. The next run takes
  /// anew what it needs. Throws bad_argument from within a run.
  void trim();

  struct Impl;

 private:
  friend class Engine;
  explicit Context(std::unique_ptr<Impl> i);
  std::unique_ptr<Impl> impl_;
};

/// Makes the tables of operators and kernels that all engines of a process share, and asks the processor what
/// it can do: some two milliseconds, once, which the first engine would take else. The Python module does so
/// when it is imported. Any thread may call it, as often as it likes.
LATHE_API void initialize();

}  // namespace lathe
