#include "verify/build_variants.h"

#include <algorithm>

#include "compiler/build.h"
#include "compiler/lowering_passes.h"
#include "compiler/plugin_schemas.h"
#include "compiler/states.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "runtime/engine_impl.h"

namespace lathe {

BuildVariants::BuildVariants(const BuildOptions& options, std::shared_ptr<const Extensions> extensions,
                             const PassList* passes, const std::vector<LoweringPass>* lowering)
    : options_(options),
      extensions_(std::move(extensions)),
      schemas_(schemas_with(*extensions_)),
      passes_(passes),
      lowering_(lowering),
      isa_(choose_isa(options.isa)) {
  options_.allow_reference = true;
  options_.taps.clear();
  options_.progress = {};
  // The kernels compared are those that rules of thumb choose: a search builds too often to measure.
  options_.effort = TuningEffort::none;
  options_.timing_cache.clear();
  options_.timing_cache_pinned = false;
}

std::unique_ptr<Graph> BuildVariants::import(const onnx::Model& model,
                                             const std::map<std::string, int64_t>& sizes) const {
  return import_model(model, *schemas_,
                      {.shapes = sizes, .fix_defaults = options_.fix_defaults, .control = options_.control});
}

onnx::Model BuildVariants::export_graph(const Graph& graph) const { return export_model(graph, *schemas_); }

Optimum BuildVariants::optimized(const Graph& graph, OptimizationLevel level, size_t stop_after) const {
  Optimum o{graph.clone(), {}, {}};
  BuildOptions options = options_;
  options.level = level;
  const std::shared_ptr<const Target> to = target();
  Optimized done = optimize_graph(*o.graph, *schemas_, extensions_->kernels(), options,
                                  {.passes = passes_, .target = to.get(), .stop_after = stop_after});
  o.folds = std::move(done.folds);
  o.patches = std::move(done.patches);
  return o;
}

bool BuildVariants::is_for_finite_only(const Optimum& of) const {
  const PassList& known = passes_ ? *passes_ : all_passes();
  return std::ranges::any_of(known, [&](const Pass& p) {
    return p.finite_only && std::ranges::count(of.patches, p.name, &AppliedPatch::pass) > 0;
  });
}

namespace {

bool has_states(const Graph& graph, const BuildOptions& options) {
  try {
    return !state_positions(graph, options).empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Engine BuildVariants::engine(const Optimum& of, OptimizationLevel level, const TappedValues& taps,
                             Search search) const {
  BuildOptions options = options_;
  options.level = level;
  // A part of the model may lack their inputs and outputs.
  if (!has_states(*of.graph, options)) options.states.clear();
  // A search tells nodes by the graph that they are in; else that is for others to build from again.
  const std::unique_ptr<Graph> copy = search.by_reference ? nullptr : of.graph->clone();
  Graph& graph = copy ? *copy : *of.graph;
  search.lowering = lowering_;
  if (search.lowered) search.lowered->clear();
  TappedValues here;
  for (const auto& [from, values] : taps) here[from == of.graph.get() ? &graph : from] = values;
  Plan plan = plan_optimized(graph, of.folds, here, *schemas_, *extensions_, options,
                             settings_of(graph, options, *extensions_), search);
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), extensions_, program_options(options)));
}

std::shared_ptr<const Target> BuildVariants::target() const {
  return target_of(backend_preference(options_.backend, *extensions_).front(), *extensions_);
}

Engine BuildVariants::reference_engine(const Graph& graph) const {
  BuildVariants plain = *this;
  plain.options_.backend = "reference";
  plain.options_.passes.clear();
  plain.options_.states.clear();
  plain.lowering_ = nullptr;
  return plain.engine(plain.optimized(graph, OptimizationLevel::none), OptimizationLevel::none);
}

std::vector<Value> BuildVariants::evaluate(const Graph& graph, std::span<const Value> inputs,
                                           const Listener& listener) const {
  return lathe::evaluate(
      graph, inputs, {.kernels = &extensions_->kernels(), .control = options_.control, .listener = listener});
}

}  // namespace lathe
