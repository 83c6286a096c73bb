// What tools ask besides running a model: what is supported, and facts about this machine. The `lathe`
// command and the Python module are thin over this.
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

/// Everything there is to say about a model, errors and warnings, in the order of the file; empty: nothing.
/// Never throws for what is wrong with the model. Thread-safe.
LATHE_API std::vector<Diagnostic> check(const onnx::Model& model);
/// What is damaged in a plan: its structure, or else every stored array that does not match its checksum, by
/// name. Reads the whole file. Throws file_* where it cannot be read.
LATHE_API std::vector<Diagnostic> check_plan(const std::filesystem::path& plan);

/// What is known of a model without running it. Dimensions are expressions over the model's symbols.
struct ModelSummary {
  std::string graph_name, producer;
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // "" is ai.onnx
  std::vector<IoInfo> inputs, outputs;
  std::vector<std::string> symbols;
  /// Nodes per operator as the file has them, bodies of control flow and functions included; operators of
  /// other domains are written "domain.Name".
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0, functions = 0;
  int64_t parameters = 0;        // elements of all initializers, bodies included
  uint64_t parameter_bytes = 0;  // of their contents
  /// Multiplications and additions of one run: two for every term that a contraction (MatMul, Conv, LSTM, …)
  /// sums, one for every output element of other arithmetic, nothing for movement. A loop's body counts once,
  /// of an If the dearer branch.
  Dim flops;
  int64_t flops_unknown = 0;  // nodes left out because their shapes are not known
};
/// Imports the model, with sizes for some of its symbols; throws what the importer throws.
LATHE_API ModelSummary inspect(const onnx::Model& model, const std::map<std::string, int64_t>& sizes = {});

enum class GraphFormat : uint8_t { text, json, dot };
/// The graph after import (newest operators, inferred shapes): a line a node, JSON, or for Graphviz.
LATHE_API std::string describe_graph(const onnx::Model& model, GraphFormat format,
                                     const std::map<std::string, int64_t>& sizes = {});

/// The model imported (newest operators, shapes inferred) and written back at the lowest opset and IR version
/// that can say it, or at the one asked for: operators that came later are then said in others, and functions
/// written in a newer opset are inlined. Throws node_cannot_convert where there is no way to say a node.
LATHE_API onnx::Model normalize(const onnx::Model& model, int opset = 0);

/// What the optimiser makes of a model.
struct OptimizedModel {
  onnx::Model model;  // standard operators, at the opset of the given one or the next that can say it
  struct Patch {
    std::string pass, node, reason;
  };
  std::vector<Patch> patches;  // in the order they were applied
};
/// Imports the model and runs passes and constant folding as a build would (`level`, `passes`, `shapes`,
/// `fold_limit`, `refit` and `control` of the options). `opset` as of normalize(), but 0 is the model's own,
/// or the next that can say what became of it; where one is asked for, what passes would write with operators
/// that came later stays as it is. So does what ONNX Runtime has no kernels for, where it has some for the
/// nodes as they are, and what a small constant repeats: Expand, Tile and their like are folded only where
/// little comes of it.
LATHE_API OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options = {}, int opset = 0);

/// What timing caches hold, machine by machine.
struct TimingCacheInfo {
  struct Machine {
    std::string cpu;                    // the processor's own name for itself
    std::vector<std::string> features;  // as of SystemInfo
    std::string version;                // of the library that measured
    int64_t problems = 0;
    int64_t untimed = 0;  // of them: chosen without measurements, recorded so that a rebuild can be pinned
    bool here = false;    // this machine and this library: what a build here would use
  };
  std::vector<Machine> machines;
};
/// Merges the timing caches of several builds or machines, and writes the result to `output` unless that is
/// empty. What one machine measured stays apart from what others did; of two times for the same tactic the
/// lesser is kept, and where the files chose differently the tactic with the least time is chosen. Throws
/// file_not_found, json_malformed, file_write_failed.
LATHE_API TimingCacheInfo merge_timing_caches(const std::vector<std::filesystem::path>& caches,
                                              const std::filesystem::path& output = {});

/// The passes there are, by name.
struct PassInfo {
  std::string name, says;
  OptimizationLevel level;
  bool by_default = true;  // false: only runs where "+name" asks for it
};
LATHE_API std::vector<PassInfo> passes();
/// What a build does to the optimised graph for this machine alone, in order; "-name" among
/// BuildOptions::passes leaves one out.
LATHE_API std::vector<PassInfo> rewrites();

/// What `verify` compares, and for how long.
struct VerifyOptions {
  /// How engines are built: backend, threads, isa, passes, plugins, shapes fixed at build, ….  Not looked at:
  /// taps, tuning, and level, for which `levels` stands. `progress` hears what is compared; `control`
  /// cancels, and where it is given, `seconds` is looked at between runs only.
  BuildOptions build;
  std::vector<OptimizationLevel> levels{std::begin(optimization_levels), std::end(optimization_levels)};
  /// Sizes of symbols, and shapes of inputs. Symbols that both leave free are tried at 1, 2, 3 and 17.
  std::map<std::string, int64_t> sizes = {};
  NamedShapes shapes = {};
  /// Inputs to compare with as they are; made-up inputs take their shapes too, and from them what integers
  /// and strings may be.
  std::vector<NamedValues> recorded = {};
  uint64_t seed = 0;    // of made-up inputs
  double seconds = 60;  // after which no further comparison begins
};

/// What `verify` found.
struct VerifyReport {
  /// One comparison with the reference.
  struct Trial {
    std::string shapes;  // "batch=2", "as declared", "recorded"
    std::string values;  // "ordinary", "zeros", …, "recorded"
    OptimizationLevel level = OptimizationLevel::none;
    /// The largest difference of an output element: of floats in parts of the largest element of its tensor,
    /// of others as it is.
    double difference = 0;
    /// Beyond the contract, but every step is right on its own inputs: the model amplifies rounding, or draws
    /// random numbers.
    bool amplified = false;
  };
  /// The first step or pass that is wrong, with the smallest model that shows it.
  struct Fault {
    enum class Kind : uint8_t {
      pass,    // a patch of a pass changes what is computed
      kernel,  // a kernel differs from the reference on the same inputs
      fusion,  // elementwise operators done in one step with others
      memory,  // steps are right when values are kept: they overwrite each other
      rewrite  // several operators become others for this machine (BuildOptions::passes)
    };
    Kind kind = Kind::kernel;
    Diagnostic diagnostic;                                // Code::internal
    std::string shapes, values;                           // as in Trial
    OptimizationLevel level = OptimizationLevel::none;    // that it needs
    std::string pass, reason, kernel, rewrite;            // what is guilty, where it is one of these
    std::vector<std::string> nodes;                       // those at fault, or that the patch is about
    onnx::Model reproduction;                             // standard operators; as small as still fails
    bool confirmed = false;                               // the reproduction, built anew, does fail
    std::vector<std::pair<std::string, Value>> inputs;    // of the reproduction, in order
    std::vector<std::pair<std::string, Value>> expected;  // what the reference makes of them
    double atol = 0, rtol = 0;                            // tolerances with which a comparison shows it
  };
  std::vector<Trial> trials;
  std::vector<std::string> untried;  // "batch=17: " and why
  std::optional<Fault> fault;        // nothing: all agree
};

/// Compares every level of optimisation, and every kernel and fused step in it, with the reference backend,
/// on several shapes and kinds of values; stops at the first difference beyond the contract
/// (docs/internals/verify.md) that some pass or step is guilty of. Throws what building throws, what the
/// reference says of recorded inputs, and bad_argument or deadline where nothing could be compared.
/// Thread-safe.
LATHE_API VerifyReport verify(const onnx::Model& model, const VerifyOptions& options = {});

/// Writes reproduce.onnx, input_0.npy … and expected_0.npy … into the directory (which is made), for
/// `lathe run reproduce.onnx --inputs DIR --expect DIR`. Values that .npy cannot hold are written as .pb or
/// .json. Throws file_write_failed.
LATHE_API void save_reproduction(const VerifyReport::Fault& fault, const std::filesystem::path& directory);
LATHE_API std::string_view name_of(VerifyReport::Fault::Kind kind);

/// One operator of the registry.
struct OperatorInfo {
  struct VersionInfo {
    int since = 1;
    std::string signature;  // "(input: T) -> (output: T) {axis: int = -1} [T: float double]"
    bool deprecated = false;
    /// Type variable and the types it stands for ("float", "seq(int64)").
    std::vector<std::pair<std::string, std::vector<std::string>>> types = {};
  };
  struct KernelInfo {
    std::string name, backend, isa;
  };
  std::string domain, name;                // "" is ai.onnx
  std::vector<VersionInfo> versions = {};  // oldest first
  std::vector<KernelInfo> kernels = {};    // in the order they are asked; the reference last
  /// Types of the newest version's first type variable for which a kernel other than the reference takes the
  /// operator in some ordinary form: small dense inputs, attributes left out where they may be. Everything
  /// else runs on the reference.
  std::vector<std::string> fast = {};
  std::string component = {};   // the optional component that it needs, by name; empty: none
  bool differentiable = false;  // may stand between xs and y of a Gradient (ai.onnx.preview.training)
};

/// The operators whose name fits the shell pattern, sorted by domain and name. Thread-safe.
LATHE_API std::vector<OperatorInfo> operators(std::string_view pattern = "*");

/// An optional component: a shared library of Lathe's that brings other people's libraries along.
struct ComponentInfo {
  std::string name;                    // "images"
  std::vector<std::string> operators;  // that need it
  std::filesystem::path path;          // where it was found; empty: it is not there
  std::string has, lacks;              // parts that it has, and that it was built without
  std::string missing;  // of one that is not there: where it was looked for, and what brings it
};

/// Facts about this machine and what the library makes of them.
struct SystemInfo {
  std::string version;
  std::string cpu;                    // the processor's own name for itself
  std::string isa;                    // the best that kernels are chosen for: "generic", "avx2", "avx512"
  std::vector<std::string> features;  // "avx2", "avx512", "avx512_vnni", "amx_int8", …
  int processors_online = 1;          // of the machine
  int processors_allowed = 1;         // by cpuset and affinity
  double cpu_quota = 0;               // cgroup quota in processors; 0: none
  uint64_t memory_total = 0;          // bytes of the machine; 0: not known
  uint64_t memory_limit = 0;          // bytes this process's cgroups allow; 0: none
  int threads = 1;                    // used when none are asked for
  std::string threads_reason;         // why that many
  int newest_opset = 0, newest_ir_version = 0;
  std::vector<ComponentInfo> components = {};  // all that there may be
};
LATHE_API SystemInfo system_info();

/// Removes what other threads are writing and has not its name yet, and has them wait before they begin or
/// finish another file: for a process that a signal is about to end. Not from a signal handler.
LATHE_API void remove_unfinished_files();

}  // namespace lathe
