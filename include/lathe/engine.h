// Building and running: a model becomes an Engine (immutable, shared), which makes Contexts (cheap, one
// thread each).
//
//   auto engine = lathe::Engine::build("model.onnx");
//   auto context = engine.create_context();
//   auto outputs = context.run({{"x", lathe::Tensor::from<float>({1, 3}, std::vector<float>{1, 2, 3})}});
//
// An engine's weights can be exchanged while it serves: lathe/refit.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/build_options.h"
#include "lathe/error.h"
#include "lathe/export.h"
#include "lathe/io_info.h"
#include "lathe/memory_info.h"
#include "lathe/onnx.h"
#include "lathe/profile.h"
#include "lathe/run_control.h"
#include "lathe/shape_profile.h"
#include "lathe/state.h"
#include "lathe/step_info.h"
#include "lathe/value.h"

namespace lathe {

/// Counts what tuning did while an engine was built. A problem is an operator with its attributes, types and
/// shapes; one problem may stand for many steps, or for none of them where it decided a tensor format.
struct TuningReport {
  int64_t problems = 0;  // all: timed + cached + untimed
  int64_t timed = 0;     // measured by this build
  int64_t cached = 0;    // found in the timing cache
  int64_t untimed = 0;   // left to heuristics: no time was left, or no kernel ran
  double seconds = 0;    // that timing took
};

/// Tells what an engine's kernels are for, and which part of its plan they were taken from.
struct TargetInfo {
  std::string isa;        // "generic", "avx2", "avx512"
  std::string built_for;  // target of the build; at most `isa` unless the section is "portable"
  /// "native": kernels and packed weights are used as they were built. "portable": they were chosen and
  /// packed again when the plan was opened, since it was built for more than this machine has or
  /// BuildOptions::isa allows.
  std::string section;
  std::string device;  // the backend whose kernels come first: "cpu", or the name of a plug-in's device
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
  /// Binds a state to the input of that name; runs read and change it until another one is bound, and it may
  /// be bound to one context at a time while it runs. Of an engine with states every one must be bound before
  /// a run; its inputs and outputs are neither given nor returned. Where a run fails, states that grow are as
  /// before; others that it may have changed refuse further runs until they are assigned or cleared. Throws
  /// bad_argument for an input that is no state, run_bad_shape or run_bad_input for another type or shape.
  void bind_state(std::string_view input, const State& state);
  /// Binds all states of a map. Throws as bind_state() does.
  void bind_states(const NamedStates& states);
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
  /// costs one reading of a clock and some stores (docs/guide/profile.md); nothing is allocated while runs
  /// have known shapes. After the first thousand runs, where steps take little longer than that, some runs
  /// are passed over so that recording stays under 2 % of the time (Profile::runs_passed_over counts them).
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
