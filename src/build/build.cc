#include "build/build.h"

#include <algorithm>

#include "base/glob.h"
#include "build/fold.h"
#include "build/lower.h"

namespace lathe {
namespace {

/// Before anything is folded or dropped. What a body captures is a value of the graph around it.
void find_tapped(const Graph& g, const std::vector<std::string>& patterns, TappedValues& found) {
  std::vector<ValueId> list;
  for (ValueId v = 0; v < g.value_count(); ++v) {
    const ValueInfo& info = g.value(v);
    const bool is_here = info.producer != no_id || info.constant || info.is_input;
    if (is_here && info.captured == no_id &&
        std::ranges::any_of(patterns, [&](const std::string& p) { return glob_match(p, info.name); }))
      list.push_back(v);
  }
  if (!list.empty()) found[&g] = std::move(list);
  for (NodeId id : g.order())
    for (const Body& b : g.node(id).bodies) find_tapped(*b.graph, patterns, found);
}

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

Plan build_plan(Graph& graph, const SchemaCatalog& schemas, const Extensions& extensions,
                const BuildOptions& options) {
  const Preference preference{backend_preference(options.backend, extensions), choose_isa(options.isa),
                              options.allow_reference};
  TappedValues taps;
  if (!options.taps.empty()) find_tapped(graph, options.taps, taps);
  report(options, "fold", 0);
  const Folds folds = fold_constants(graph, {.schemas = &schemas,
                                             .kernels = &extensions.kernels(),
                                             .control = options.control,
                                             .limit = options.fold_limit});
  report(options, "plan", 0.5);
  Plan plan = lower(graph, folds, taps, extensions.kernels(), preference, options.control);
  report(options, "plan", 1);
  return plan;
}

}  // namespace lathe
