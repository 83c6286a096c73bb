// Tools besides building and running: checks, conversions, optimization, verification, and facts about
// operators and this machine. The `lathe` command and the Python module are thin layers over this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/dim.h"
#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/export.h"
#include "lathe/onnx.h"

namespace lathe {

/// Returns all errors and warnings about a model, in the order of the file; an empty list means that it is
/// valid. Never throws for what is wrong with the model. Thread-safe. ONNX: onnx.checker.check_model.
LATHE_API std::vector<Diagnostic> check(const onnx::Model& model);
/// Returns what is damaged in a plan: its structure, or else every stored array, by name, that does not match
/// its checksum. Reads the whole file. Throws file_* where it cannot be read.
LATHE_API std::vector<Diagnostic> check_plan(const std::filesystem::path& plan);

/// Describes a model without running it. Dimensions are expressions over the model's symbols.
struct ModelSummary {
  std::string graph_name, producer;       // as in the model
  int64_t ir_version = 0;                 // as in the model
  std::map<std::string, int64_t> opsets;  // opset of each domain; "" is ai.onnx
  std::vector<IoInfo> inputs, outputs;    // inputs and outputs of the main graph
  std::vector<std::string> symbols;       // names of the symbols in the inputs' shapes
  /// Number of nodes for each operator as the file has them, bodies of control flow and functions included;
  /// operators of other domains are written "domain.Name".
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0, functions = 0;  // number of nodes in all, and of functions
  int64_t parameters = 0;            // number of elements of all initializers, bodies included
  uint64_t parameter_bytes = 0;      // bytes of their contents
  /// Multiplications and additions of one run: two for every term that a contraction (MatMul, Conv, LSTM, …)
  /// sums, one for every output element of other arithmetic, none for data movement. A loop's body counts
  /// once, and of the branches of an If the more expensive one.
  Dim flops;
  int64_t flops_unknown = 0;  // number of nodes left out because their shapes are not known
};
/// Imports the model, with sizes for some of its symbols, and describes it. Throws what Engine::build throws
/// for models.
LATHE_API ModelSummary inspect(const onnx::Model& model, const std::map<std::string, int64_t>& sizes = {});

/// Selects the form of a graph: a line for each node, JSON, or Graphviz's language.
enum class GraphFormat : uint8_t { text, json, dot };
/// Returns the graph after import, with the newest operators and inferred shapes; `sizes` fixes symbols.
/// Throws as inspect() does.
LATHE_API std::string describe_graph(const onnx::Model& model, GraphFormat format,
                                     const std::map<std::string, int64_t>& sizes = {});

/// Imports the model (newest operators, inferred shapes) and writes it back at the lowest opset and IR
/// version that can express it, or at `opset`: newer operators are then decomposed into others, and functions
/// written in a newer opset are inlined. Throws node_cannot_convert for a node that cannot be expressed
/// there, and as inspect() does. ONNX: onnx.version_converter.
LATHE_API onnx::Model normalize(const onnx::Model& model, int opset = 0);

/// The result of optimize().
struct OptimizedModel {
  onnx::Model model;  // standard operators, at the opset of the given model or the next that can express them
  /// Describes one change of the graph.
  struct Patch {
    std::string pass, node, reason;  // the pass, the name of the node that it changed, and what it did
  };
  std::vector<Patch> patches;  // all changes, in the order in which they were made
};
/// Imports the model, runs passes and constant folding as a build does, and returns standard ONNX. It reads
/// the options `level`, `passes`, `shapes`, `fold_limit`, `refit` and `control`. `opset` is as for
/// normalize(), but 0 means the model's own or the next that can express the result; where one is given,
/// nodes stay as they are that passes would replace with newer operators. Nodes also stay where ONNX Runtime
/// has kernels for them and none for what would replace them, and Expand, Tile and the like are folded only
/// where the result is small. Throws as inspect() does; build_bad_option, cancelled, deadline. ONNX Runtime:
/// SessionOptions.optimized_model_filepath.
LATHE_API OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options = {}, int opset = 0);

/// Describes the contents of timing caches, machine by machine.
struct TimingCacheInfo {
  /// Describes the measurements of one machine.
  struct Machine {
    std::string cpu;                    // name that the processor gives itself
    std::vector<std::string> features;  // as in SystemInfo
    std::string version;                // version of the library that measured
    int64_t problems = 0;               // number of known problems
    /// How many of them were chosen without measurements, recorded so that a rebuild can be pinned.
    int64_t untimed = 0;
    bool here = false;  // true for this machine and this library, whose problems a build here would use
  };
  std::vector<Machine> machines;  // in the order of the file
};
/// Merges the timing caches of several builds or machines, and writes the result to `output` unless that is
/// empty. Measurements of different machines stay separate; of two times for the same tactic the smaller one
/// is kept, and where the files chose differently the tactic with the smallest time is chosen. Throws
/// file_not_found, json_malformed, file_write_failed. TensorRT: ITimingCache::combine.
LATHE_API TimingCacheInfo merge_timing_caches(const std::vector<std::filesystem::path>& caches,
                                              const std::filesystem::path& output = {});

/// Describes a pass of the graph optimizer, or a rewrite for this machine.
struct PassInfo {
  std::string name, says;   // and what it does, in a sentence
  OptimizationLevel level;  // lowest level that runs it
  bool by_default = true;   // false: only runs where "+name" asks for it
};
/// Returns the passes of the graph optimizer, by name.
LATHE_API std::vector<PassInfo> passes();
/// Returns the rewrites that a build applies to the optimized graph for this machine alone, in order; "-name"
/// in BuildOptions::passes switches one off.
LATHE_API std::vector<PassInfo> rewrites();

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
      pass,    // a patch of a pass changes what is computed
      kernel,  // a kernel differs from the reference on the same inputs
      fusion,  // elementwise operators done in one step with others
      memory,  // each step is right on its own, but one overwrites values of another
      rewrite  // several operators become others for this machine (BuildOptions::passes)
    };
    Kind kind = Kind::kernel;                           // which of these it is
    Diagnostic diagnostic;                              // the fault as an error, Code::internal
    std::string shapes, values;                         // as in Trial
    OptimizationLevel level = OptimizationLevel::none;  // lowest level that shows it
    /// The culprit, where it is one of these, and what the pass did.
    std::string pass, reason, kernel, rewrite;
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
/// on several shapes and kinds of values; stops at the first difference beyond the tolerance (docs/verify.md)
/// that a pass or step causes. Throws as Engine::build does; what the reference finds in recorded inputs;
/// cancelled; bad_argument or deadline where nothing could be compared. Thread-safe.
LATHE_API VerifyReport verify(const onnx::Model& model, const VerifyOptions& options = {});

/// Writes reproduce.onnx, input_0.npy … and expected_0.npy … into the directory, which is created, for `lathe
/// run reproduce.onnx --inputs DIR --expect DIR`. Values that .npy cannot hold are written as .pb or .json.
/// Throws file_write_failed.
LATHE_API void save_reproduction(const VerifyReport::Fault& fault, const std::filesystem::path& directory);
/// Returns the name: "pass", "kernel", "fusion", "memory", "rewrite".
LATHE_API std::string_view name_of(VerifyReport::Fault::Kind kind);

/// Describes one operator that the library has.
struct OperatorInfo {
  /// Describes one version of an operator.
  struct VersionInfo {
    int since = 1;            // first opset of this version
    std::string signature;    // "(input: T) -> (output: T) {axis: int = -1} [T: float double]"
    bool deprecated = false;  // by the standard, in this version
    /// Type variables, each with the types that it stands for ("float", "seq(int64)").
    std::vector<std::pair<std::string, std::vector<std::string>>> types = {};
  };
  /// Describes one kernel of an operator.
  struct KernelInfo {
    std::string name, backend, isa;  // unique name, device, and instruction set that it needs
  };
  std::string domain, name;                // domain and name; "" is ai.onnx
  std::vector<VersionInfo> versions = {};  // all versions, the oldest first
  /// All kernels, in the order in which builds consider them; the reference is the last.
  std::vector<KernelInfo> kernels = {};
  /// Types of the newest version's first type variable for which a kernel other than the reference takes the
  /// operator in some ordinary form: small dense inputs, optional attributes left out. All other types run on
  /// the reference.
  std::vector<std::string> fast = {};
  std::string component = {};  // name of the optional component that it needs; empty: none
  /// True where it may be between xs and y of a Gradient (ai.onnx.preview.training).
  bool differentiable = false;
};

/// Returns the operators whose names match a shell pattern, sorted by domain and name. Thread-safe.
LATHE_API std::vector<OperatorInfo> operators(std::string_view pattern = "*");

/// Describes an optional component: a shared library of Lathe's that brings third-party libraries along.
struct ComponentInfo {
  std::string name;                    // "images"
  std::vector<std::string> operators;  // names of the operators that need it
  std::filesystem::path path;          // file that was found; empty: there is none
  std::string has, lacks;              // features that it has, and that it was built without
  std::string missing;  // for one that is not there: where it was looked for, and what installs it
};

/// Describes this machine and what the library makes of it.
struct SystemInfo {
  std::string version;  // version of the library
  std::string cpu;      // name that the processor gives itself
  std::string isa;      // best instruction set that kernels are chosen for: "generic", "avx2", "avx512"
  std::vector<std::string> features;            // "avx2", "avx512", "avx512_vnni", "amx_int8", …
  int processors_online = 1;                    // processors of the machine
  int processors_allowed = 1;                   // processors that cpuset and affinity allow
  double cpu_quota = 0;                         // cgroup quota in processors; 0: none
  uint64_t memory_total = 0;                    // bytes of the machine; 0: not known
  uint64_t memory_limit = 0;                    // bytes that this process's cgroups allow; 0: no limit
  int threads = 1;                              // number of threads that engines use by default
  std::string threads_reason;                   // why it is that many
  int newest_opset = 0, newest_ir_version = 0;  // that the library reads
  std::vector<ComponentInfo> components = {};   // all optional components
};
/// Returns facts about this machine. Thread-safe.
LATHE_API SystemInfo system_info();

/// Removes files that other threads are writing and that do not have their final names yet, and makes those
/// threads wait before they begin or finish another file: for a process that a signal is about to end. Not
/// async-signal-safe.
LATHE_API void remove_unfinished_files();

}  // namespace lathe
