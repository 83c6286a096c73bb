#include "build/build.h"

#include <algorithm>

#include "build/blocked_layout.h"
#include "build/lower.h"
#include "build/optimise.h"
#include "build/quantized_layout.h"
#include "build/side_steps.h"

namespace lathe {
namespace {

void report(const BuildOptions& o, std::string_view stage, double fraction) {
  if (o.control) o.control->check();
  if (o.progress && !o.progress(stage, fraction))
    throw Error(Code::cancelled, "build", "to go on", "cancelled by the caller");
}

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

Preference kernel_preference(const BuildOptions& options, const Extensions& extensions) {
  return {backend_preference(options.backend, extensions), choose_isa(options.isa), options.allow_reference,
          options.level == OptimizationLevel::all, options.refit};
}

Plan build_plan(Graph& graph, const SchemaCatalog& schemas, const Extensions& extensions,
                const BuildOptions& options) {
  kernel_preference(options, extensions);  // wrong options are told before there is work
  report(options, "optimise", 0);
  const Tapped tapped(graph, options.taps);
  Folds folds = optimise(graph, schemas, extensions.kernels(), options).folds;
  const TappedValues taps = tapped.restore(graph);
  report(options, "plan", 0.5);
  Plan plan = plan_optimised(graph, std::move(folds), taps, schemas, extensions, options);
  report(options, "plan", 1);
  return plan;
}

Plan plan_optimised(Graph& graph, Folds folds, const TappedValues& taps, const SchemaCatalog& schemas,
                    const Extensions& extensions, const BuildOptions& options, const Search& search) {
  const Preference preference = kernel_preference(options, extensions);
  // A search for nodes looks for those that the optimiser left.
  const bool blocked = preference.fuse && preference.backends.front() == "cpu" &&
                       preference.isa != Isa::generic && !search.by_reference;
  // Of weights that may be exchanged, neither zero points nor scales are known.
  if (blocked && !preference.refit) {
    bool changed = use_quantized_layout(graph, folds, extensions.kernels(), preference);
    changed |= use_quantized_products(graph, folds, extensions.kernels(), preference);
    const auto tapped = taps.find(&graph);
    if (changed) remove_unread(graph, tapped == taps.end() ? std::vector<ValueId>() : tapped->second);
  }
  if (blocked) {
    use_blocked_layout(graph, extensions.kernels(), preference);
    folds.merge(fold_constants(graph, {.schemas = &schemas,
                                       .kernels = &extensions.kernels(),
                                       .control = options.control,
                                       .limit = fold_budget(options, folds)}));
  }
  return lower(graph, folds, taps, extensions.kernels(), preference, options.control, search);
}

}  // namespace lathe
