// Builds of one model in the ways that a verification compares.
#pragma once

#include <memory>
#include <vector>

#include "compiler/lower.h"
#include "compiler/optimize.h"
#include "compiler/target.h"
#include "eval/eval.h"
#include "lathe/engine.h"
#include "runtime/extensions.h"
#include "schema/schema.h"

namespace lathe {

/// A graph as the optimizer leaves it, with the information that lowering needs.
struct Optimum {
  std::unique_ptr<Graph> graph;
  Folds folds;
  std::vector<AppliedPatch> patches;
};

/// Called with every value that an evaluation makes, those of bodies included.
using Listener = decltype(EvalOptions::listener);

class BuildVariants {
 public:
  /// `passes`, `lowering`: the passes to choose from; null: all.
  BuildVariants(const BuildOptions& options, std::shared_ptr<const Extensions> extensions,
                const PassList* passes, const std::vector<LoweringPass>* lowering = nullptr);

  std::unique_ptr<Graph> import(const onnx::Model& model,
                                const std::map<std::string, int64_t>& sizes = {}) const;
  onnx::Model export_graph(const Graph& graph) const;
  /// Optimizes a copy of the graph; `stop_after`: ends after so many patches.
  Optimum optimized(const Graph& graph, OptimizationLevel level, size_t stop_after = SIZE_MAX) const;
  /// Returns whether a pass rewrote the graph that guarantees nothing for infinities and NaN.
  bool is_for_finite_only(const Optimum& of) const;
  /// Returns an engine that runs it on the backend of the options. Taps are of its main graph.
  Engine engine(const Optimum& of, OptimizationLevel level, const TappedValues& taps = {},
                Search search = {}) const;
  Engine reference_engine(const Graph& graph) const;
  /// Computes the outputs with reference kernels, value by value.
  std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                              const Listener& listener = {}) const;

  const SchemaCatalog& schemas() const { return *schemas_; }
  const KernelCatalog& kernels() const { return extensions_->kernels(); }
  const BuildOptions& options() const { return options_; }
  Isa isa() const { return isa_; }
  /// The target whose kernels come first; null: none that is known here.
  std::shared_ptr<const Target> target() const;
  /// For every run and build from now on.
  void set_control(RunControl* control) { options_.control = control; }

 private:
  BuildOptions options_;
  std::shared_ptr<const Extensions> extensions_;
  std::shared_ptr<const SchemaCatalog> schemas_;
  const PassList* passes_;
  const std::vector<LoweringPass>* lowering_;
  Isa isa_;
};

}  // namespace lathe
