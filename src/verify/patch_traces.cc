#include "verify/patch_traces.h"

#include <algorithm>
#include <set>

#include "verify/cut.h"

namespace lathe {
namespace {

bool same(const Graph& before, const Graph& after);

bool same(const Node& a, const Node& b) {
  if (a.alive != b.alive || a.inputs != b.inputs || a.outputs != b.outputs) return false;
  for (size_t i = 0; i < a.bodies.size(); ++i)
    if (!same(*a.bodies[i].graph, *b.bodies[i].graph)) return false;
  return true;
}

bool same(const Graph& before, const Graph& after) {
  if (before.node_count() != after.node_count() || before.outputs() != after.outputs()) return false;
  for (NodeId id = 0; id < before.node_count(); ++id)
    if (!same(before.node(id), after.node(id))) return false;
  return true;
}

bool bodies_changed(const Node& a, const Node& b) {
  for (size_t i = 0; i < a.bodies.size(); ++i)
    if (!same(*a.bodies[i].graph, *b.bodies[i].graph)) return true;
  return false;
}

class Tracer {
 public:
  Tracer(const Graph& before, const Graph& after) : before_(before), after_(after) {}

  PatchTraces run() {
    replaced(before_.outputs(), after_.outputs());
    for (NodeId id = 0; id < before_.node_count(); ++id) {
      const Node &a = before_.node(id), &b = after_.node(id);
      if (!a.alive || !b.alive) continue;
      replaced(a.inputs, b.inputs);
      captured(a, b);
      if (bodies_changed(a, b)) inside(id);
    }
    for (const auto& [from, to] : traces_.replaced) follow(to);
    return std::move(traces_);
  }

 private:
  void replaced(const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      if (from[i] != to[i] && from[i] != no_id && to[i] != no_id) add(from[i], to[i]);
  }

  void captured(const Node& a, const Node& b) {
    for (size_t i = 0; i < a.bodies.size(); ++i)
      for (ValueId c : a.bodies[i].graph->captures()) {
        const ValueId from = a.bodies[i].graph->value(c).captured, to = b.bodies[i].graph->value(c).captured;
        if (from != to && to != no_id) add(from, to);
      }
  }

  /// The node gives the same values, made in another way.
  void inside(NodeId id) {
    for (ValueId v : before_.node(id).outputs)
      if (v != no_id) add(v, v);
    traces_.made.push_back(id);
    for (ValueId v : reads_of(before_, id)) traces_.known.push_back(v);
  }

  void add(ValueId from, ValueId to) {
    const std::pair<ValueId, ValueId> both{from, to};
    if (std::ranges::find(traces_.replaced, both) == traces_.replaced.end()) traces_.replaced.push_back(both);
  }

  void follow(ValueId to) {
    std::vector<ValueId> waiting{to};
    while (!waiting.empty()) {
      const ValueId v = waiting.back();
      waiting.pop_back();
      if (!seen_.insert(v).second) continue;
      const NodeId maker = after_.value(v).producer;
      if (maker != no_id && std::ranges::find(traces_.made, maker) != traces_.made.end()) continue;
      if (v < before_.value_count()) {
        traces_.known.push_back(v);
      } else if (maker != no_id) {
        traces_.made.push_back(maker);
        for (ValueId read : reads_of(after_, maker)) waiting.push_back(read);
      }
    }
  }

  const Graph &before_, &after_;
  PatchTraces traces_;
  std::set<ValueId> seen_;
};

}  // namespace

PatchTraces patch_traces(const Graph& before, const Graph& after) { return Tracer(before, after).run(); }

}  // namespace lathe
