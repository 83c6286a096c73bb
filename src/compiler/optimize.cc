#include "compiler/optimize.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/memory_allowed.h"
#include "compiler/built_in.h"
#include "compiler/lowering_passes.h"
#include "graph/traverse.h"
#include "passes/refused_nodes.h"

namespace lathe {
namespace {

void add_weights(const Graph& root, Exchangeable& found) {
  each_graph(root, [&](const Graph& g) {
    for (ValueId v = 0; v < g.value_count(); ++v)
      if (!g.value(v).source.empty() && g.value(v).constant) found.insert(g.value(v).constant.get());
  });
}

/// Constants that nodes and outputs still read.
void add_read(const Graph& root, std::set<const Value*>& read) {
  each_graph(root, [&](const Graph& g) {
    const auto add = [&](ValueId v) {
      if (v != no_id && g.value(v).constant) read.insert(g.value(v).constant.get());
    };
    std::ranges::for_each(g.outputs(), add);
    for (NodeId id = 0; id < g.node_count(); ++id)
      if (g.node(id).alive) each_read(g.node(id), add);
  });
}

/// The weights of the file that may be exchanged, and all that was folded from them.
Exchangeable exchangeable(const Graph& g, const Folds& folds, const std::set<const Value*>& deciding) {
  Exchangeable found;
  add_weights(g, found);
  std::erase_if(found, [&](const Value* v) { return deciding.contains(v); });
  std::multimap<const Value*, const Value*> made_from;
  for (const auto& [made, fold] : folds)
    for (const Fold::Operand& o : fold.from)
      if (o.constant) made_from.emplace(o.constant.get(), made);
  for (std::vector<const Value*> open(found.begin(), found.end()); !open.empty();) {
    const auto [first, last] = made_from.equal_range(open.back());
    open.pop_back();
    for (auto i = first; i != last; ++i)
      if (found.insert(i->second).second) open.push_back(i->second);
  }
  return found;
}

}  // namespace

uint64_t fold_budget(const Graph& graph, const BuildOptions& options, const Folds& folds) {
  if (options.fold_limit == 0) return 0;
  const auto size = [](const Value& v) { return v.is_tensor() ? v.tensor().bytes() : 0; };
  uint64_t made = 0, freed = 0;
  std::set<const Value*> weights, read;
  for (const auto& [constant, fold] : folds) {
    made += size(*constant);
    for (const Fold::Operand& o : fold.from)
      if (!o.source.empty()) weights.insert(o.constant.get());
  }
  if (!weights.empty()) add_read(graph, read);
  for (const Value* w : weights) freed += read.contains(w) ? 0 : size(*w);
  const uint64_t allowed = memory_allowed(options.memory_limit),
                 limit = allowed > 0 ? std::min(options.fold_limit, allowed) : options.fold_limit;
  return limit - std::min(limit, made - std::min(made, freed));
}

Optimized optimize_graph(Graph& graph, const SchemaCatalog& schemas, const KernelCatalog& kernels,
                         const BuildOptions& options, const Search& search) {
  Optimized done;
  std::vector<std::string> switches = options.passes;
  const std::vector<LoweringPass> lowering = lowering_passes_with(search.target);
  take_lowering_switches(switches, lowering);
  for (bool changed = true; changed;) {
    done.folds.merge(fold_constants(graph, {.schemas = &schemas,
                                            .kernels = &kernels,
                                            .control = options.control,
                                            .dequantize = search.dequantize ? FoldOptions::Dequantize::others
                                                                            : FoldOptions::Dequantize::none,
                                            .leave_transposes = true,
                                            .limit = fold_budget(graph, options, done.folds)}));
    if (options.refit && done.patches.empty()) done.deciding = deciding_shapes(graph, done.folds, schemas);
    // Folding may let passes match more, and the other way round.
    Rewriting rewriting = run_passes(
        graph, schemas,
        {.level = options.level,
         .passes = search.passes,
         .switches = switches,
         .or_else = lowering_switches(lowering),
         .stop_after = search.stop_after - done.patches.size(),
         .newest_opset = search.newest_opset,
         .for_others = search.for_others,
         .written_opset = search.written_opset,
         .control = options.control,
         .decline_faulty = search.passes == nullptr,
         .exchangeable = options.refit ? exchangeable(graph, done.folds, done.deciding) : Exchangeable()});
    changed = rewriting.at_rest && !rewriting.patches.empty();
    std::ranges::move(rewriting.patches, std::back_inserter(done.patches));
    std::ranges::move(rewriting.declined, std::back_inserter(done.declined));
  }
  if (search.for_others) restore_refused_nodes(graph);
  return done;
}

}  // namespace lathe
