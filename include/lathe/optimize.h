// Optimization of models to standard operators, and the passes that do it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lathe/build_options.h"
#include "lathe/export.h"
#include "lathe/onnx.h"

namespace lathe {

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

/// Describes a pass: of the graph optimizer, after which a graph is standard ONNX, or of the lowering behind
/// it, which is for the target alone.
struct PassInfo {
  std::string name, description;  // and what it does, in a sentence
  OptimizationLevel level;        // lowest level that runs it
  bool by_default = true;         // false: only runs where "+name" asks for it
  bool lowering = false;          // true: of the lowering
  bool required = false;          // true: cannot be left out by "-name" in BuildOptions::passes
  std::string target = {};        // backend whose lowering pass it is; empty: of all
  /// Facts of the target, the options and the graph that a lowering pass needs, and that it provides for
  /// those behind it ("vectors, fixed weights").
  std::string needs = {}, provides = {};
};

/// Returns the passes of the graph optimizer by name, then those of the lowering in the order in which they
/// run; one of these may run several times. Those of `plugins` (shared libraries, see lathe/backend.h) come
/// last; throws build_plugin_failed where one cannot be loaded.
LATHE_API std::vector<PassInfo> passes(const std::vector<std::filesystem::path>& plugins = {});

}  // namespace lathe
