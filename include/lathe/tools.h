// What tools ask besides running a model: what is supported, and facts about this machine. The `lathe`
// command and the Python module are thin over this.
#pragma once

#include <cstdint>
#include <functional>
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
/// that can say it, or at the one asked for. Throws node_cannot_convert where that one cannot.
LATHE_API onnx::Model normalize(const onnx::Model& model, int opset = 0);

/// What the optimiser makes of a model.
struct OptimizedModel {
  onnx::Model model;  // standard operators, at the lowest opset and IR version that can say it
  struct Patch {
    std::string pass, node, reason;
  };
  std::vector<Patch> patches;  // in the order they were applied
};
/// Imports the model and runs passes and constant folding as a build would (`level`, `passes`, `shapes`,
/// `fold_limit`, `refit` and `control` of the options). `opset` as of normalize(); older ones lack operators
/// that level `extended` finds.
LATHE_API OptimizedModel optimize(const onnx::Model& model, const BuildOptions& options = {}, int opset = 0);

/// The passes there are, by name.
struct PassInfo {
  std::string name, says;
  OptimizationLevel level;
  bool by_default = true;  // false: only runs where "+name" asks for it
};
LATHE_API std::vector<PassInfo> passes();

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
};

/// The operators whose name fits the shell pattern, sorted by domain and name. Thread-safe.
LATHE_API std::vector<OperatorInfo> operators(std::string_view pattern = "*");

/// Facts about this machine and what the library makes of them.
struct SystemInfo {
  std::string version;
  std::string cpu;                    // the processor's own name for itself
  std::string isa;                    // the best that kernels are chosen for: "generic", "avx2", "avx512"
  std::vector<std::string> features;  // "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  int processors_online = 1;          // of the machine
  int processors_allowed = 1;         // by cpuset and affinity
  double cpu_quota = 0;               // cgroup quota in processors; 0: none
  uint64_t memory_total = 0;          // bytes of the machine; 0: not known
  uint64_t memory_limit = 0;          // bytes this process's cgroups allow; 0: none
  int threads = 1;                    // used when none are asked for
  std::string threads_reason;         // why that many
  int newest_opset = 0, newest_ir_version = 0;
};
LATHE_API SystemInfo system_info();

}  // namespace lathe
