#include "compiler/build.h"

#include <algorithm>
#include <utility>

#include "compiler/alignment.h"
#include "compiler/arithmetic.h"
#include "compiler/built_in.h"
#include "compiler/expected_shapes.h"
#include "compiler/lower.h"
#include "compiler/lowering_passes.h"
#include "compiler/optimize.h"
#include "compiler/states.h"
#include "compiler/tap_restore.h"
#include "graph/traverse.h"
#include "runtime/engine_impl.h"
#include "runtime/weight_program.h"
#include "tune/tune_plan.h"

namespace lathe {
namespace {

void report(const BuildOptions& o, std::string_view stage, double fraction) {
  if (o.control) o.control->check();
  if (o.progress && !o.progress(stage, fraction))
    throw Error(Code::cancelled, "build", "to go on", "cancelled by the caller");
}

/// Returns whether the constants have more bytes than a cache keeps from one run to the next.
bool is_streamed(const Graph& g) {
  constexpr uint64_t cached = uint64_t{8} << 20;
  uint64_t bytes = 0;
  for (ValueId v = 0; v < g.value_count(); ++v)
    if (const Tensor* t = g.constant_tensor(v)) bytes += t->bytes();
  return bytes > cached;
}

/// Drops the folded constants of a graph: from here on the plan alone holds them.
void forget_folded(Graph& root, const Folds& folds) {
  each_graph(root, [&](Graph& g) {
    for (ValueId v = 0; v < g.value_count(); ++v)
      if (auto& constant = g.value(v).constant; folds.contains(constant.get())) constant = nullptr;
  });
}

/// Saves what was measured, even if the rest of the build fails.
class Keep {
 public:
  Keep(Tuner* tuner, TuningReport* report) : tuner_(tuner), report_(report) {}
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  ~Keep() {
    try {
      if (tuner_) tuner_->save();
    } catch (const std::exception&) {  // the build has failed already, with an error of its own
    }
  }
  void now() {
    if (!tuner_) return;
    tuner_->save();
    if (report_) *report_ = tuner_->report();
  }

 private:
  Tuner* tuner_;
  TuningReport* report_;
};

}  // namespace

std::vector<std::string> backend_preference(const std::string& wanted, const Extensions& extensions) {
  std::vector<std::string> list;
  for (size_t at = 0; at <= wanted.size();) {
    const size_t end = std::min(wanted.find(':', at), wanted.size());
    list.push_back(wanted.substr(at, end - at));
    extensions.require_backend(list.back());
    at = end + 1;
  }
  return list;
}

BuildSettings settings_of(const Graph& graph, const BuildOptions& options, const Extensions& extensions) {
  BuildSettings s{.preference = {backend_preference(options.backend, extensions), choose_isa(options.isa),
                                 options.allow_reference, options.level == OptimizationLevel::all,
                                 options.refit, options.numerics == Numerics::strict},
                  .target = nullptr,
                  .profiles = plan_profiles(graph, options),
                  .states = {},
                  .tuner = nullptr};
  s.target = target_of(s.preference.backends.front(), extensions);
  s.preference.likely = likely_sizes(graph, options);
  s.states = state_positions(graph, options);
  if (Tuner::wanted(options))
    s.tuner = std::make_unique<Tuner>(options, extensions, s.preference.likely, is_streamed(graph));
  return s;
}

Plan build_plan(Graph& graph, const SchemaCatalog& schemas, const Extensions& extensions,
                const BuildOptions& options, TuningReport* tuning) {
  BuildSettings settings = settings_of(graph, options, extensions);  // throws before there is work
  report(options, "optimize", 0);
  const Tapped tapped(graph, options.taps);
  const std::vector<Initializer> given = options.refit ? initializers(graph) : std::vector<Initializer>();
  Optimized done =
      optimize_graph(graph, schemas, extensions.kernels(), options, {.target = settings.target.get()});
  const TappedValues taps = tapped.restore(graph);
  report(options, "plan", 0.5);
  Plan plan = plan_optimized(graph, std::move(done.folds), taps, schemas, extensions, options,
                             std::move(settings), {}, tuning);
  plan.built_in = built_in_weights(plan, given, done.deciding);
  report(options, "plan", 1);
  return plan;
}

Plan plan_optimized(Graph& graph, Folds folds, const TappedValues& taps, const SchemaCatalog& schemas,
                    const Extensions& extensions, const BuildOptions& options, BuildSettings settings,
                    const Search& search, TuningReport* tuning) {
  const Preference& preference = settings.preference;
  Tuner* const tuner = settings.tuner.get();
  Keep keep(tuner, tuning);
  LoweringContext lowering{.graph = graph,
                           .folds = folds,
                           .taps = taps,
                           .schemas = schemas,
                           .kernels = extensions.kernels(),
                           .preference = preference,
                           .options = options,
                           .search = search,
                           .target = settings.target.get(),
                           .tuner = tuner,
                           .state_positions = settings.states};
  run_lowering_passes(lowering);
  Packing packing;
  Plan plan = lower(graph, folds, taps, extensions.kernels(), preference, lowering.target, options.control,
                    packing, search, std::move(lowering.states));
  plan.portable = options.portable;
  plan.profiles = std::move(settings.profiles);
  record_arithmetic(plan, schemas, extensions.kernels());
  const bool tuned = tuner && tune_plan(plan, *tuner, extensions.kernels(), packing);
  keep.now();
  const ProgramOptions run = program_options(options);
  if (!search.by_reference) forget_folded(graph, std::exchange(folds, {}));
  packing.run(plan, run.threads, run.executor, options.control);
  if (tuned) drop_unused_weights(plan);
  finalize_weights(plan, extensions.kernels());
  return plan;
}

}  // namespace lathe
