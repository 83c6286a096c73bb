// Builds of one model in the ways that a verification compares.
#pragma once

#include <memory>
#include <vector>

#include "build/lower.h"
#include "build/optimise.h"
#include "eval/eval.h"
#include "lathe/engine.h"
#include "runtime/extensions.h"
#include "schema/schema.h"

namespace lathe {

/// A graph as the optimiser leaves it, with what lowering wants to know.
struct Optimum {
  std::unique_ptr<Graph> graph;
  Folds folds;
  std::vector<AppliedPatch> patches;
};

/// Told every value that an evaluation makes, those of bodies too.
using Listener = decltype(EvalOptions::listener);

class Workshop {
 public:
  /// `passes`: those to choose from; null: all there are.
  Workshop(const BuildOptions& options, std::shared_ptr<const Extensions> extensions, const PassList* passes);

  std::unique_ptr<Graph> import(const onnx::Model& model,
                                const std::map<std::string, int64_t>& sizes = {}) const;
  onnx::Model export_graph(const Graph& graph) const;
  /// Of a copy; `stop_after` patches.
  Optimum optimised(const Graph& graph, OptimizationLevel level, size_t stop_after = SIZE_MAX) const;
  /// Did a pass rewrite it that promises nothing of infinities and NaN?
  bool is_for_finite_only(const Optimum& of) const;
  /// What runs it on the backend of the options. Taps are of its main graph.
  Engine engine(const Optimum& of, OptimizationLevel level, const TappedValues& taps = {},
                Search search = {}) const;
  Engine reference_engine(const Graph& graph) const;
  /// With reference kernels, value by value.
  std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                              const Listener& listener = {}) const;

  const SchemaCatalog& schemas() const { return *schemas_; }
  const KernelCatalog& kernels() const { return extensions_->kernels(); }
  const BuildOptions& options() const { return options_; }
  Isa isa() const { return isa_; }
  /// For every run and build from now on.
  void set_control(RunControl* control) { options_.control = control; }

 private:
  BuildOptions options_;
  std::shared_ptr<const Extensions> extensions_;
  std::shared_ptr<const SchemaCatalog> schemas_;
  const PassList* passes_;
  Isa isa_;
};

}  // namespace lathe
