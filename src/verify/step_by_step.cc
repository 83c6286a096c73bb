#include "verify/step_by_step.h"

#include <algorithm>
#include <map>
#include <set>

#include "verify/sensitivity.h"
#include "verify/stateful_run.h"
#include "verify/sums.h"

namespace lathe {
namespace {

/// Gathers the values of one run as they come by, and judges each node once all of its values have.
class Watch {
 public:
  Watch(const BuildVariants& variants, const Graph& graph, std::span<const Value> inputs, Held held,
        Judged judged)
      : variants_(variants), graph_(graph), held_(held), judged_(judged) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueInfo& info = graph.value(graph.inputs()[i]);
      values_[graph.inputs()[i]] = inputs[i].empty() && info.constant ? *info.constant : inputs[i];
    }
    const std::vector<NodeId> order = nodes_for(graph, graph.outputs());
    for (NodeId id : order)
      for (ValueId v : reads_of(graph, id)) tap(v);
    for (ValueId v : graph.outputs()) tap(v);
    for (NodeId id : order) watch(id);
  }

  TappedValues taps() const { return {{&graph_, {tapped_.begin(), tapped_.end()}}}; }

  void note_value(std::string_view name, const Value& value) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end() || !readers_.contains(at->second) || values_.contains(at->second)) return;
    values_[at->second] = owned(value);
    // The loop uses a copy, since nodes that are judged are removed from the lists.
    for (size_t w : std::vector<size_t>(readers_[at->second])) {
      if (--watched_[w].missing > 0) continue;
      judge(w);
      let_go(w);
    }
  }

  void know(std::vector<StepInfo> steps) { steps_ = std::move(steps); }
  StepByStep result() { return {std::move(first_), {}}; }

 private:
  struct Watched {
    NodeId node;
    std::vector<ValueId> tapped;  // of what it reads and makes
    std::vector<ValueId> outputs;
    size_t missing = 0;
  };

  void tap(ValueId v) {
    if (graph_.value(v).producer == no_id) return;
    tapped_.insert(v);
    by_name_[graph_.value(v).name] = v;
  }

  void watch(NodeId id) {
    Watched w{id, {}, {}};
    for (ValueId v : reads_of(graph_, id))
      if (tapped_.contains(v)) w.tapped.push_back(v);
    for (ValueId v : graph_.node(id).outputs)
      if (v != no_id && tapped_.contains(v)) w.outputs.push_back(v);
    w.tapped.insert(w.tapped.end(), w.outputs.begin(), w.outputs.end());
    w.missing = w.tapped.size();
    for (ValueId v : w.tapped) readers_[v].push_back(watched_.size());
    watched_.push_back(std::move(w));
  }

  void judge(size_t which) {
    const Watched& w = watched_[which];
    if (w.outputs.empty() || which >= first_index_) return;
    const std::string fast = fast_kernel(steps_, label_of(graph_, graph_.node(w.node)));
    if (judged_ == Judged::sums && fast.empty()) return;
    TracedStep s{w.node, cut(graph_, {w.node}, w.outputs), {}};
    for (ValueId v : s.alone.inputs) s.inputs.push_back(values_[v]);
    std::vector<Value> got, want;
    for (ValueId v : w.outputs) got.push_back(values_[v]);
    try {
      want = variants_.evaluate(*s.alone.graph, s.inputs);
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      return;
    }
    if (within_tolerance(s, got, want) && keeps_bounds(s, fast, got, want)) return;
    first_index_ = which;
    first_ = std::move(s);
  }

  bool within_tolerance(const TracedStep& s, const std::vector<Value>& got,
                        const std::vector<Value>& want) const {
    const std::vector<std::string> names = output_names(*s.alone.graph);
    if (judged_ == Judged::sums || tolerance_difference(got, want, names, held_).within) return true;
    const std::vector<double> slack = sensitivity(variants_, *s.alone.graph, s.inputs, want);
    return tolerance_difference(got, want, names, held_, slack).within;
  }
  bool keeps_bounds(const TracedStep& s, const std::string& fast, const std::vector<Value>& got,
                    const std::vector<Value>& want) const {
    if (fast.empty() || held_ == Held::none) return true;
    const auto bounds = bounds_of_sums(*s.alone.graph, fast, s.inputs, want[0], variants_.isa());
    return bounds.empty() || bounds_difference(got[0].tensor(), want[0].tensor(), "", bounds).within;
  }

  /// Drops the values that only this node had still to see.
  void let_go(size_t which) {
    for (ValueId v : watched_[which].tapped) {
      std::erase(readers_[v], which);
      if (readers_[v].empty()) values_[v] = Value();
    }
  }

  const BuildVariants& variants_;
  const Graph& graph_;
  Held held_;
  Judged judged_;
  std::vector<StepInfo> steps_;
  std::set<ValueId> tapped_;
  std::map<std::string, ValueId, std::less<>> by_name_;
  std::map<ValueId, Value> values_;
  std::map<ValueId, std::vector<size_t>> readers_;  // who has still to see it
  std::vector<Watched> watched_;                    // in the order of the graph
  size_t first_index_ = SIZE_MAX;
  std::optional<TracedStep> first_;
};

}  // namespace

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId v : graph.outputs()) names.push_back(graph.value(v).name);
  return names;
}

StepByStep step_by_step(const BuildVariants& variants, const Optimum& of, OptimizationLevel level,
                        std::span<const Value> inputs, Held held, Judged judged) {
  Watch watch(variants, *of.graph, inputs, held, judged);
  const Engine engine = variants.engine(of, level, watch.taps());
  watch.know(engine.steps());
  Context context = engine.create_context();
  context.on_tap([&](std::string_view name, const Value& v) { watch.note_value(name, v); });
  std::vector<Value> outputs = run_statefully(engine, context, inputs, variants.options().control);
  StepByStep found = watch.result();
  found.outputs = std::move(outputs);
  return found;
}

}  // namespace lathe
