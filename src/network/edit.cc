// Edits: each as a whole or not at all.
#include <algorithm>

#include "network/state.h"

namespace lathe {
namespace {

Error bad(std::string expected, std::string got, std::string remedy = {}) {
  return Error(Code::bad_argument, "network", std::move(expected), std::move(got), std::move(remedy));
}

void check_nobody_at_work(const NetworkState& s) {
  if (s.makers > 0)
    throw bad("an edit before or after a call", "one inside the function that fills a body",
              "edit when the call has returned");
}

}  // namespace

/// The network as it was before an edit; it is restored unless the edit is kept.
class Snapshot {
 public:
  explicit Snapshot(NetworkState& s) : state_(s) {
    check_nobody_at_work(s);
    graph_ = s.graph(0).clone();
    calls_ = calls_for_clone(s.calls, s.scopes[0], graph_);
    debug_ = s.debug;
  }
  ~Snapshot() {
    if (!graph_) return;
    state_.reset(std::move(graph_));
    state_.calls = std::move(calls_);
    state_.debug = std::move(debug_);
    state_.infer_again();  // it went well before
  }
  void keep() {
    state_.graph(0).check();
    state_.infer_again();
    graph_.reset();
  }
  void keep_as_is() { graph_.reset(); }

 private:
  NetworkState& state_;
  std::shared_ptr<Graph> graph_;
  LayerCalls calls_;
  decltype(NetworkState::debug) debug_;
};

namespace {

void read_instead(Node& n, ValueId from, ValueId to) {
  std::ranges::replace(n.inputs, from, to);
  for (Body& b : n.bodies)
    for (ValueId c : b.graph->captures())
      if (b.graph->value(c).captured == from) b.graph->value(c).captured = to;
}

/// `to` becomes the output that `from` was, under its name.
void take_output(Graph& g, ValueId from, ValueId to) {
  if (!g.is_output(from)) return;
  if (g.value(to).is_input || g.is_output(to) || g.value(to).captured != no_id)
    throw bad("an output that is made here, and none yet", "'" + g.value(to).name + "'",
              "use add_identity first");
  g.swap_names(from, to);
  g.replace_output(from, to);
}

void forget_layer(NetworkState& s, uint32_t scope, const std::vector<NodeId>& nodes,
                  const std::string& name) {
  Graph& g = s.graph(scope);
  s.layer_names.erase(name);
  for (NodeId id : nodes) {
    for (ValueId v : g.node(id).outputs) s.debug.erase({scope, v});
    g.remove_node(id);
  }
}

}  // namespace

struct Transaction::State {
  std::shared_ptr<NetworkState> network;
  Snapshot before;
};

Transaction::Transaction(const Network& network)
    : state_(new State{NetworkAccess::state(network), Snapshot(*NetworkAccess::state(network))}) {}

Transaction::~Transaction() {
  if (state_ && state_->network->makers > 0) commit();
}

void Transaction::commit() {
  if (state_) state_->before.keep_as_is();
  state_.reset();
}

void Transaction::roll_back() {
  if (!state_) return;
  check_nobody_at_work(*state_->network);
  state_.reset();
}

void Network::transaction(const std::function<void(Network&)>& change) {
  Snapshot before(*state_);
  change(*this);
  before.keep_as_is();
}

void Network::replace_all_uses(const TensorRef& from, const TensorRef& to) {
  const ValueId a = resolve(*this, from), b = resolve(*this, to);
  if (a == b) return;
  Snapshot before(*state_);
  Graph& g = NetworkAccess::graph(*this);
  take_output(g, a, b);
  g.replace_uses(a, b);
  before.keep();
}

void Network::set_input(const Layer& layer, size_t i, const TensorRef& t) {
  const ValueId from = resolve(*this, layer.get_input(i)), to = resolve(*this, t);
  Snapshot before(*state_);
  Graph& g = NetworkAccess::graph(*this);
  for (NodeId id : nodes_of_layer(g, layer.id())) read_instead(g.node(id), from, to);
  before.keep();
}

void Network::insert_before(const Layer& layer, size_t i,
                            const std::function<TensorRef(Network&, const TensorRef&)>& make) {
  Snapshot before(*state_);
  set_input(layer, i, make(*this, layer.get_input(i)));
  before.keep_as_is();
}

void Network::insert_after(const TensorRef& t,
                           const std::function<TensorRef(Network&, const TensorRef&)>& make) {
  const ValueId from = resolve(*this, t);
  Snapshot before(*state_);
  const std::vector<Use> readers = NetworkAccess::graph(*this).uses_of(from);
  const TensorRef made = make(*this, t);
  const ValueId to = resolve(*this, made);
  if (to == from) throw bad("something other than the tensor itself", "'" + t.name() + "'");
  Graph& g = NetworkAccess::graph(*this);
  take_output(g, from, to);
  for (const Use& u : readers) read_instead(g.node(u.node), from, to);
  before.keep();
}

void Network::remove(const Layer& layer) {
  Graph& g = NetworkAccess::graph(*this);
  const std::string name = layer.name();
  const std::vector<NodeId> nodes = nodes_of_layer(g, layer.id());
  for (NodeId id : nodes)
    for (ValueId v : g.node(id).outputs) {
      if (v == no_id) continue;
      if (g.is_output(v))
        throw bad("a layer whose outputs nobody wants",
                  "'" + name + "', which gives an output of the network", "unmark_output first");
      for (const Use& u : g.uses_of(v))
        if (std::ranges::find(nodes, u.node) == nodes.end())
          throw bad("a layer whose outputs nobody wants",
                    "'" + name + "', which '" + g.node(u.node).name + "' reads", "replace_all_uses first");
    }
  forget_layer(*state_, scope_, nodes, name);
}

size_t Network::remove_unused() {
  Graph& g = NetworkAccess::graph(*this);
  std::vector<bool> wanted(g.value_count());
  for (ValueId v : g.outputs()) wanted[v] = true;
  for (const auto& [scope, v] : state_->debug)
    if (scope == scope_) wanted[v] = true;
  // Layers are visited from the last to the first; everything that a needed layer reads is needed.
  std::vector<Layer> all = layers();
  const std::vector<NodeId> order = g.order();
  std::vector<bool> needed(g.node_count());
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = g.node(*id);
    needed[*id] = std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && wanted[v]; });
    if (!needed[*id]) continue;
    for (ValueId v : n.inputs)
      if (v != no_id) wanted[v] = true;
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) wanted[b.graph->value(c).captured] = true;
  }
  size_t removed = 0;
  for (const Layer& l : all) {
    const std::vector<NodeId> nodes = nodes_of_layer(g, l.id());
    if (std::ranges::any_of(nodes, [&](NodeId id) { return needed[id]; })) continue;
    forget_layer(*state_, scope_, nodes, l.name());
    ++removed;
  }
  return removed;
}

Network Network::extract(const std::vector<TensorRef>& inputs, const std::vector<TensorRef>& outputs) const {
  Network part = clone();
  Graph& g = NetworkAccess::graph(part);
  std::vector<ValueId> wanted, given;
  for (const TensorRef& t : outputs) wanted.push_back(resolve(*this, t));
  if (wanted.empty()) throw bad("an output to extract", "none");
  const std::vector<ValueId> before = g.inputs();
  for (const TensorRef& t : inputs) {
    const ValueId v = resolve(*this, t);
    if (std::ranges::find(before, v) != before.end()) {
      given.push_back(v);
      continue;
    }
    // The input gets the name and the readers of the computed value, whose layer is then unused.
    const ValueId in = g.add_input(g.fresh_name(t.name()), g.value(v).type);
    g.swap_names(in, v);
    g.replace_uses(v, in);
    std::ranges::replace(wanted, v, in);
    given.push_back(in);
  }
  g.set_outputs(wanted);
  NetworkAccess::state(part)->debug.clear();
  part.remove_unused();
  // Inputs of the network around stay where they are read.
  for (ValueId v : before)
    if (std::ranges::find(given, v) == given.end() && (!g.uses_of(v).empty() || g.is_output(v)))
      given.push_back(v);
  g.set_inputs(given);
  for (ValueId v = 0; v < g.value_count(); ++v)
    if (g.value(v).is_input && std::ranges::find(given, v) == given.end()) g.value(v).is_input = false;
  g.check();
  NetworkAccess::state(part)->infer_again();
  return part;
}

}  // namespace lathe
