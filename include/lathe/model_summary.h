// Facts about a model without running it: sizes, operators, arithmetic, and the graph as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lathe/dim.h"
#include "lathe/export.h"
#include "lathe/io_info.h"
#include "lathe/onnx.h"

namespace lathe {

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
/// for models. Operators of `plugins` (shared libraries, see lathe/backend.h) are known, too; throws
/// build_plugin_failed where one cannot be loaded.
LATHE_API ModelSummary inspect(const onnx::Model& model, const std::map<std::string, int64_t>& sizes = {},
                               const std::vector<std::filesystem::path>& plugins = {});

/// Selects the form of a graph: a line for each node, JSON, or Graphviz's language.
enum class GraphFormat : uint8_t { text, json, dot };

/// Returns the graph after import, with the newest operators and inferred shapes; `sizes` fixes symbols.
/// Throws as inspect() does.
LATHE_API std::string describe_graph(const onnx::Model& model, GraphFormat format,
                                     const std::map<std::string, int64_t>& sizes = {},
                                     const std::vector<std::filesystem::path>& plugins = {});

}  // namespace lathe
