// The state behind handles of a network: its graphs, the results of inference, and the nodes of each layer.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lathe/network.h"
#include "schema/infer.h"

namespace lathe {

/// If a layer has several nodes, they carry its name and family in their metadata: so layers survive in
/// files, and are found again whatever was done to the graph.
inline constexpr const char* layer_key = "lathe.layer";
inline constexpr const char* kind_key = "lathe.kind";
/// Followed by the number of a node's output. Its value is the number of the layer's output that this is.
inline constexpr const char* output_key = "lathe.output.";
/// Returns whether `key` is one of these.
bool is_layer_key(std::string_view key);
/// The value of that key; empty when there is none.
const std::string& metadata_of(const Node& n, std::string_view key);

struct LayerCall;
/// The calls that made layers, by graph and first node. They are not in the nodes, since no file has them.
using LayerCalls = std::map<std::weak_ptr<const Graph>, std::map<NodeId, std::shared_ptr<const LayerCall>>,
                            std::owner_less<>>;
/// Returns the calls of `graph` and its bodies for a clone of it.
LayerCalls calls_for_clone(const LayerCalls& calls, const std::shared_ptr<const Graph>& graph,
                           const std::shared_ptr<const Graph>& clone);

struct NetworkState {
  /// The network itself, then bodies that handles were made for. Null: it was removed; its handles are
  /// invalid.
  std::vector<std::shared_ptr<Graph>> scopes;
  InferState infer;
  /// The schemas of operators: the library's, and those of the plug-ins that a file was parsed with.
  std::shared_ptr<const SchemaCatalog> schemas{std::shared_ptr<void>(), &SchemaCatalog::standard()};
  std::set<std::pair<uint32_t, ValueId>> debug;
  std::unordered_set<std::string> layer_names;
  LayerCalls calls;
  /// Number of calls in progress. The graph must not be exchanged meanwhile: they fill bodies through
  /// callers' functions.
  size_t makers = 0;

  /// Throws bad_argument if the graph was removed.
  Graph& graph(uint32_t scope) const;
  uint32_t scope_of(const std::shared_ptr<Graph>& body);
  bool is_inside(uint32_t scope, const Graph* outer) const;
  /// Makes `graph` the network. Handles of its bodies become invalid.
  void reset(std::shared_ptr<Graph> graph);
  /// Infers types and contents of all values again. Throws what inference throws.
  void infer_again();
};

/// The first nodes of a graph's layers, in an order in which they can run.
std::vector<NodeId> layer_nodes(const Graph& g);
/// Returns all nodes of the layer of that node, in order.
std::vector<NodeId> nodes_of_layer(const Graph& g, NodeId n);

struct NetworkAccess {
  static TensorRef tensor(const std::shared_ptr<NetworkState>& s, uint32_t scope, ValueId v) {
    TensorRef t;
    t.state_ = s, t.scope_ = scope, t.value_ = v;
    return t;
  }
  static Layer layer(const std::shared_ptr<NetworkState>& s, uint32_t scope, NodeId n) {
    Layer l;
    l.state_ = s, l.scope_ = scope, l.node_ = n;
    return l;
  }
  static Network network(const std::shared_ptr<NetworkState>& s, uint32_t scope) {
    Network n{Nothing{}};
    n.state_ = s, n.scope_ = scope;
    return n;
  }
  /// The network, or the body, that a tensor is in.
  static Network network(const TensorRef& t) { return network(t.state_, t.scope_); }
  static const std::shared_ptr<NetworkState>& state(const Network& n) { return n.state_; }
  static uint32_t scope(const Network& n) { return n.scope_; }
  static Graph& graph(const Network& n) { return n.state_->graph(n.scope_); }
  static NetworkState* state(const TensorRef& t) { return t.state_.get(); }
  static uint32_t scope(const TensorRef& t) { return t.scope_; }
  static ValueId value(const TensorRef& t) { return t.value_; }
  static NetworkState* state(const Layer& l) { return l.state_.get(); }
  static uint32_t scope(const Layer& l) { return l.scope_; }
  static NodeId node(const Layer& l) { return l.node_; }
  using Nothing = Network::Nothing;
};

/// Returns the value that `t` is in `n`: its own, or one captured from around it, body by body. Throws
/// bad_argument for another network's tensor, one of a body that `n` is not inside of, or a removed one.
ValueId resolve(const Network& n, const TensorRef& t);

}  // namespace lathe
