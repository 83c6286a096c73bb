// Graph: the one structure that models are in while they are worked on. Operators are in their newest
// version, values are typed with symbolic shapes, bodies of If/Loop/Scan are graphs of their own with
// explicit captures.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/type.h"
#include "lathe/onnx.h"
#include "lathe/value.h"
#include "tensor/attributes.h"

namespace lathe {

class Graph;

/// Indices into Graph; stable for the life of the graph (removed ones are never used again).
using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t no_id = UINT32_MAX;

/// A graph attribute: "then_branch", "else_branch", "body".
struct Body {
  std::string name;
  std::shared_ptr<Graph> graph;
};

struct Node {
  std::string name;
  std::string op;
  std::string domain;  // "" is ai.onnx
  std::string overload;
  std::vector<ValueId> inputs;   // no_id: left out
  std::vector<ValueId> outputs;  // no_id: not wanted
  Attributes attributes;
  std::vector<Body> bodies;  // in the order of their names: kernels know them by number
  std::string doc;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> origin;  // names of the nodes in the file that this one stands for
  bool alive = true;

  const Graph* body(std::string_view name) const;
};

struct Use {
  NodeId node;
  uint32_t input;
};

/// One value: produced by a node, an input of the graph, a constant, or captured from the enclosing graph.
struct ValueInfo {
  std::string name;
  ValueType type;
  NodeId producer = no_id;
  uint32_t output = 0;       // which output of the producer
  ValueId captured = no_id;  // in a body: the value of the enclosing graph that this is
  /// Initializer or folded; its tensor may be a view of a mapped file. Of an input: what it is when not
  /// given.
  std::shared_ptr<const Value> constant;
  std::string source;  // name of the initializer in the file, for the weight program; empty when computed
  bool is_input = false;
  std::string doc;
  /// Is `constant` its contents in every run?
  bool is_constant() const { return constant && !is_input; }
};

/// A directed acyclic graph of nodes. Not thread-safe while changed; safe to read from many threads.
class Graph {
 public:
  explicit Graph(Graph* parent = nullptr) : parent_(parent) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name, doc;
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Root only: functions kept from the file (not inlined), and the opsets of other domains.
  std::vector<onnx::FunctionProto> functions;
  std::map<std::string, int64_t> opsets;
  std::string producer_name, producer_version, model_domain;
  int64_t model_version = 0;

  Graph* parent() const { return parent_; }
  /// Moves a body into another graph: what it captures must be values of that one.
  void set_parent(Graph* parent) { parent_ = parent; }

  // Values
  ValueId add_value(std::string name, ValueType type = {});
  ValueId add_input(std::string name, ValueType type);
  ValueId add_constant(std::string name, Tensor t, std::string source = {});
  ValueId add_constant(std::string name, Value v, ValueType type, std::string source = {});
  /// In a body: the value that stands for `outer` of the parent graph; made once.
  ValueId capture(ValueId outer);
  const ValueInfo& value(ValueId v) const { return values_[v]; }
  ValueInfo& value(ValueId v) { return values_[v]; }
  size_t value_count() const { return values_.size(); }
  const Tensor* constant_tensor(ValueId v) const;  // null when not a constant tensor
  /// A name not yet taken in this graph or its parents, from a hint.
  std::string fresh_name(std::string_view hint) const;
  ValueId find_value(std::string_view name) const;  // no_id when there is none

  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  void set_outputs(std::vector<ValueId> v) { outputs_ = std::move(v); }
  void set_inputs(std::vector<ValueId> v) { inputs_ = std::move(v); }
  /// Values captured from the parent, in order of capture.
  std::vector<ValueId> captures() const;

  // Nodes
  /// Appends a node; its outputs are made by `add_value` before, or fresh here when `outputs` is a count. Its
  /// bodies are put in order.
  NodeId add_node(Node n);
  NodeId add_node(std::string op, std::vector<ValueId> inputs, size_t outputs, Attributes attributes = {},
                  std::string name = {});
  const Node& node(NodeId n) const { return nodes_[n]; }
  Node& node(NodeId n) { return nodes_[n]; }
  size_t node_count() const { return nodes_.size(); }  // with removed ones
  size_t live_nodes() const;
  void remove_node(NodeId n);
  /// Nodes that read `v` (through a body's captures too), by a scan; ask `uses()` once for all when many are
  /// wanted.
  std::vector<Use> uses_of(ValueId v) const;
  /// uses()[v]: readers of v. A node whose body captures v counts once with input = UINT32_MAX.
  std::vector<std::vector<Use>> uses() const;
  bool is_output(ValueId v) const;
  /// Every reader of `from` (outputs and bodies included) reads `to` instead.
  void replace_uses(ValueId from, ValueId to);

  /// Live nodes so that producers come first, stable in the order of insertion. Throws graph_cycle.
  std::vector<NodeId> order() const;
  /// Structure only: ids in range, one producer each, no cycle, bodies' captures valid. Throws Error.
  void check() const;
  /// A deep copy (tensors are shared); bodies too.
  std::unique_ptr<Graph> clone(Graph* parent = nullptr) const;

  std::string text() const;  // one line a node
  std::string json() const;
  std::string dot() const;

 private:
  Graph* parent_;
  std::vector<ValueInfo> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_, outputs_;
  std::map<std::string, ValueId, std::less<>> by_name_;
};

/// A named set of changes that a pass proposes; applied whole or not at all by `apply`.
class Patch {
 public:
  explicit Patch(std::string name) : name_(std::move(name)) {}
  /// Proposals refer to values that exist, or to values the patch itself makes.
  ValueId add_constant(std::string name, Tensor t);
  std::vector<ValueId> add_node(std::string op, std::vector<ValueId> inputs, size_t outputs = 1,
                                Attributes attributes = {}, std::string domain = {});
  void remove(NodeId n) { removed_.push_back(n); }
  void replace_uses(ValueId from, ValueId to) { replaced_.emplace_back(from, to); }
  /// Why, for the log and for `verify`.
  void because(std::string reason) { reason_ = std::move(reason); }
  const std::string& name() const { return name_; }
  const std::string& reason() const { return reason_; }
  bool empty() const { return added_.empty() && removed_.empty() && replaced_.empty(); }
  /// Applies it; returns the nodes touched. Throws before any change when the patch does not fit the graph.
  std::vector<NodeId> apply(Graph& g) const;

 private:
  /// Ids made by the patch start here, and are translated on apply.
  static constexpr uint32_t own = 0x80000000u;
  struct Made {
    int32_t node;    // index into added_, or -1 for a constant
    uint32_t index;  // which output, or which constant
  };
  std::string name_, reason_;
  std::vector<Node> added_;
  std::vector<std::pair<std::string, Tensor>> constants_;
  std::vector<Made> made_;  // by own id
  std::vector<NodeId> removed_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace lathe
