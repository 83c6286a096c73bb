#include "verify/cut.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/traverse.h"

namespace lathe {
namespace {

/// Values of one graph copied into another.
class Copier {
 public:
  Copier(const Graph& from, Cut& to) : from_(from), to_(to) {}

  void add(NodeId id) {
    Node n = from_.node(id);
    for (ValueId& v : n.inputs) v = here(v);
    for (Body& b : n.bodies) {
      b.graph = b.graph->clone(to_.graph.get());
      for (ValueId c : b.graph->captures()) {
        ValueInfo& inner = b.graph->value(c);
        inner.captured = here(inner.captured);
      }
    }
    for (ValueId& v : n.outputs) v = made(v);
    to_.graph->add_node(std::move(n));
  }

  /// The value that is there already, a constant, or else a new input.
  ValueId here(ValueId v) {
    if (v == no_id) return no_id;
    if (const auto known = copies_.find(v); known != copies_.end()) return known->second;
    const ValueInfo& info = from_.value(v);
    if (info.is_constant()) {
      const ValueId copy = to_.graph->add_constant(info.name, *info.constant, info.type, info.source);
      return copies_[v] = copy;
    }
    to_.inputs.push_back(v);
    return copies_[v] = to_.graph->add_input(info.name, info.type);
  }

 private:
  ValueId made(ValueId v) {
    if (v == no_id) return no_id;
    return copies_[v] = to_.graph->add_value(from_.value(v).name, from_.value(v).type);
  }

  const Graph& from_;
  Cut& to_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

std::vector<ValueId> reads_of(const Graph& graph, NodeId node) {
  std::vector<ValueId> list;
  const auto add = [&](ValueId v) {
    if (v != no_id && !graph.value(v).is_constant() && std::ranges::find(list, v) == list.end())
      list.push_back(v);
  };
  each_read(graph.node(node), add);
  return list;
}

std::vector<NodeId> nodes_for(const Graph& graph, const std::vector<ValueId>& wanted,
                              const std::vector<ValueId>& known) {
  std::set<NodeId> needed;
  std::vector<ValueId> waiting = wanted;
  while (!waiting.empty()) {
    const ValueId v = waiting.back();
    waiting.pop_back();
    const NodeId p = graph.value(v).producer;
    if (p == no_id || std::ranges::find(known, v) != known.end() || !needed.insert(p).second) continue;
    for (ValueId read : reads_of(graph, p)) waiting.push_back(read);
  }
  std::vector<NodeId> order = graph.order();
  std::erase_if(order, [&](NodeId id) { return !needed.contains(id); });
  return order;
}

Cut cut(const Graph& graph, const std::vector<NodeId>& nodes, std::vector<ValueId> outputs) {
  Cut c{std::make_unique<Graph>(), {}, std::move(outputs)};
  c.graph->name = graph.name;
  c.graph->opsets = graph.opsets;
  Copier copier(graph, c);
  for (NodeId id : nodes) copier.add(id);
  std::vector<ValueId> made;
  for (ValueId v : c.outputs) made.push_back(copier.here(v));
  c.graph->set_outputs(std::move(made));
  return c;
}

std::string label_of(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (ValueId v : node.outputs)
    if (v != no_id) return graph.value(v).name;
  return node.op;
}

}  // namespace lathe
