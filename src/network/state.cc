#include "network/state.h"

#include <algorithm>
#include <unordered_map>

namespace lathe {

const std::string& metadata_of(const Node& n, std::string_view key) {
  static const std::string none;
  for (const auto& [k, v] : n.metadata)
    if (k == key) return v;
  return none;
}

bool is_layer_key(std::string_view key) {
  return key == layer_key || key == kind_key || key.starts_with(output_key);
}

LayerCalls calls_for_clone(const LayerCalls& calls, const std::shared_ptr<const Graph>& graph,
                           const std::shared_ptr<const Graph>& clone) {
  LayerCalls copy;
  const auto known = calls.find(graph);
  if (known != calls.end()) copy[clone] = known->second;
  for (NodeId n = 0; n < graph->node_count(); ++n)
    for (size_t b = 0; b < graph->node(n).bodies.size(); ++b)
      copy.merge(calls_for_clone(calls, graph->node(n).bodies[b].graph, clone->node(n).bodies[b].graph));
  return copy;
}

Graph& NetworkState::graph(uint32_t scope) const {
  if (scope >= scopes.size() || !scopes[scope])
    throw Error(Code::bad_argument, "network", "a body that is part of the network",
                "one that was taken back", "look it up again");
  return *scopes[scope];
}

uint32_t NetworkState::scope_of(const std::shared_ptr<Graph>& body) {
  const auto at = std::ranges::find(scopes, body);
  if (at != scopes.end()) return static_cast<uint32_t>(at - scopes.begin());
  scopes.push_back(body);
  return static_cast<uint32_t>(scopes.size() - 1);
}

bool NetworkState::is_inside(uint32_t scope, const Graph* outer) const {
  for (const Graph* g = &graph(scope); g; g = g->parent())
    if (g == outer) return true;
  return false;
}

void NetworkState::reset(std::shared_ptr<Graph> graph) {
  for (auto& s : scopes) s.reset();
  if (scopes.empty()) scopes.emplace_back();
  scopes[0] = std::move(graph);
  infer = InferState();
  layer_names.clear();
  for (NodeId n : layer_nodes(*scopes[0])) {
    const Node& node = scopes[0]->node(n);
    const std::string& group = metadata_of(node, layer_key);
    layer_names.insert(group.empty() ? node.name : group);
  }
}

namespace {

/// Outputs of plug-in operators keep their types, which only declarations tell; all others are inferred
/// again.
void forget_types(Graph& g, InferState& state, bool in_body) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  for (const NodeId n : g.order()) {
    const bool known = catalog.find(g.node(n).domain, g.node(n).op) != nullptr;
    for (ValueId v : g.node(n).outputs) {
      if (v == no_id) continue;
      if (known)
        g.value(v).type = {};
      else if (in_body)
        state.declare(g, v, g.value(v).type);
    }
    for (const Body& b : g.node(n).bodies) forget_types(*b.graph, state, true);
  }
}

}  // namespace

void NetworkState::infer_again() {
  Graph& g = graph(0);
  infer = InferState();
  forget_types(g, infer, false);
  infer_graph(g, *schemas, infer);
}

std::vector<NodeId> layer_nodes(const Graph& g) {
  // A group is known by its node of the least id, which need not be the first that can run.
  std::unordered_map<std::string_view, NodeId> least;
  for (NodeId n = 0; n < g.node_count(); ++n)
    if (const std::string& group = metadata_of(g.node(n), layer_key); g.node(n).alive && !group.empty())
      least.try_emplace(group, n);
  std::vector<NodeId> first;
  std::unordered_set<std::string_view> seen;
  for (NodeId n : g.order()) {
    const std::string& group = metadata_of(g.node(n), layer_key);
    if (group.empty())
      first.push_back(n);
    else if (seen.insert(group).second)
      first.push_back(least.at(group));
  }
  return first;
}

std::vector<NodeId> nodes_of_layer(const Graph& g, NodeId n) {
  const std::string& group = metadata_of(g.node(n), layer_key);
  if (group.empty()) return {n};
  std::vector<NodeId> nodes;
  for (NodeId i = 0; i < g.node_count(); ++i)
    if (g.node(i).alive && metadata_of(g.node(i), layer_key) == group) nodes.push_back(i);
  return nodes;
}

ValueId resolve(const Network& n, const TensorRef& t) {
  NetworkState* state = NetworkAccess::state(t);
  auto fault = [](std::string got, std::string remedy) {
    return Error(Code::bad_argument, "network", "a tensor of this network", std::move(got),
                 std::move(remedy));
  };
  if (!state) throw fault("none", "give it a tensor that add_input, add_constant or a layer returned");
  if (state != NetworkAccess::state(n).get())
    throw fault("'" + t.name() + "' of another network", "make it an input or a constant of this one");
  const Graph* home = &state->graph(NetworkAccess::scope(t));
  const ValueId v = NetworkAccess::value(t);
  if (v >= home->value_count()) throw fault("one that was taken back", "look it up again");
  if (!state->is_inside(NetworkAccess::scope(n), home))
    throw fault("'" + t.name() + "' of a body", "make it an output of the body, and use that");
  const ValueInfo& i = home->value(v);
  if (!i.is_input && !i.constant && i.captured == no_id && i.producer == no_id)
    throw fault("'" + i.name + "' of a layer that was removed", "");
  // Each body between the tensor's graph and this one captures it from the graph around it.
  std::vector<Graph*> way;
  for (Graph* g = &NetworkAccess::graph(n); g != home; g = g->parent()) way.push_back(g);
  ValueId at = v;
  for (auto g = way.rbegin(); g != way.rend(); ++g) at = (*g)->capture(at);
  return at;
}

}  // namespace lathe
