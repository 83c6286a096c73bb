// Graph: the one structure that models are in while they are worked on. Operators are in their newest
// version, values are typed with symbolic shapes, bodies of If/Loop/Scan are graphs of their own with
// explicit captures.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
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

/// The inputs or outputs of a node, in order. Operands that are left out, in between or behind the last, are
/// no_id: models may leave optional operands out either way, so code need not check the number before it
/// reads one.
class Operands {
 public:
  using value_type = ValueId;
  Operands() = default;
  Operands(std::initializer_list<ValueId> list) : list_(list) {}
  Operands(std::vector<ValueId> list) : list_(std::move(list)) {}  // NOLINT: a list of values is one

  ValueId operator[](size_t i) const { return i < list_.size() ? list_[i] : no_id; }
  bool has(size_t i) const { return (*this)[i] != no_id; }
  /// Operands between the last and this one are left out.
  void set(size_t i, ValueId v) {
    if (i >= list_.size()) list_.resize(i + 1, no_id);
    list_[i] = v;
  }
  /// Removes absent operands at the end, except for the first `least` operands.
  void trim(size_t min_count = 0) {
    while (list_.size() > min_count && list_.back() == no_id) list_.pop_back();
  }

  size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  void push_back(ValueId v) { list_.push_back(v); }
  void resize(size_t count, ValueId added = no_id) { list_.resize(count, added); }
  void erase(size_t i) {
    if (i < list_.size()) list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::vector<ValueId>& list() const { return list_; }
  operator const std::vector<ValueId>&() const { return list_; }  // NOLINT
  bool operator==(const Operands&) const = default;

 private:
  std::vector<ValueId> list_;
};

struct Node {
  std::string name;
  std::string op;
  std::string domain;  // "" is ai.onnx
  std::string overload;
  Operands inputs;
  Operands outputs;  // no_id: not wanted
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
  /// Initializer or folded; its tensor may be a view of a mapped file. For an input, it is the default value.
  std::shared_ptr<const Value> constant;
  std::string source;  // name of the initializer in the file, for the weight program; empty when computed
  bool is_input = false;
  /// The type in the model of a float32 tensor that replaces one of 16 bits; else undefined.
  DataType written = DataType::undefined;
  std::string doc;
  /// Returns whether the value is `constant` in every run.
  bool is_constant() const { return constant && !is_input; }
};

/// A directed acyclic graph of nodes. Not thread-safe while changed; safe to read from many threads.
/// References to values and nodes stay valid while others are added, and until truncate() takes theirs back.
class Graph {
 public:
  explicit Graph(Graph* parent = nullptr);
  ~Graph();
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
  /// Moves a body into another graph: values that it captures must be of that graph.
  void set_parent(Graph* parent) { parent_ = parent; }

  // Values
  ValueId add_value(std::string name, ValueType type = {});
  ValueId add_input(std::string name, ValueType type);
  ValueId add_constant(std::string name, Tensor t, std::string source = {});
  ValueId add_constant(std::string name, Value v, ValueType type, std::string source = {});
  /// In a body: returns the value that is `outer` of the parent graph; it is made once.
  ValueId capture(ValueId outer);
  /// Returns the facts about a value. For no_id nothing is known, and changes are lost.
  const ValueInfo& value(ValueId v) const;
  ValueInfo& value(ValueId v);
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
  /// Returns a node. For no_id it is one without an operator that is not alive.
  const Node& node(NodeId n) const;
  Node& node(NodeId n);
  size_t node_count() const { return nodes_.size(); }  // with removed ones
  size_t live_nodes() const;
  void remove_node(NodeId n);
  /// Returns the nodes that read `v` (through a body's captures too), by a scan. For many values, uses() is
  /// faster.
  std::vector<Use> uses_of(ValueId v) const;
  /// uses()[v]: readers of v. A node whose body captures v counts once with input = UINT32_MAX.
  std::vector<std::vector<Use>> uses() const;
  bool is_output(ValueId v) const;
  /// Every reader of `from` (outputs and bodies included) reads `to` instead.
  void replace_uses(ValueId from, ValueId to);
  /// Replaces `from` where it is an output of the graph, and leaves nodes that read it.
  void replace_output(ValueId from, ValueId to) { std::ranges::replace(outputs_, from, to); }
  /// `name` must be free (fresh_name).
  void rename(ValueId v, std::string name);
  /// Removes the values and nodes that were added last, down to these counts; others may not refer to them.
  void truncate(size_t values, size_t nodes);
  /// Exchanges the names of both values, for a value that replaces an output of the graph.
  void swap_names(ValueId a, ValueId b);

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
  std::deque<ValueInfo> values_;
  std::deque<Node> nodes_;
  std::vector<ValueId> inputs_, outputs_;
  std::map<std::string, ValueId, std::less<>> by_name_;
  struct Nothing;
  std::unique_ptr<Nothing> nothing_;  // what value(no_id) and node(no_id) are
};

/// The readers of the values of one graph, kept up to date while it is changed: to find them again after
/// every change would take time that grows with the square of the graph.
class UseIndex {
 public:
  explicit UseIndex(const Graph& g) : graph_(g), uses_(g.uses()) {}
  const std::vector<Use>& of(ValueId v) const;
  bool is_read(ValueId v) const { return !of(v).empty() || graph_.is_output(v); }
  /// To be called when a node has been added, before one is removed, and when all reads of `from` have become
  /// reads of `to`.
  void added(NodeId n);
  void removing(NodeId n);
  void replaced(ValueId from, ValueId to);

 private:
  const Graph& graph_;
  std::vector<std::vector<Use>> uses_;
};

/// A named set of changes that a pass proposes; applied whole or not at all by `apply`. Nodes it adds replace
/// those it removes: they inherit their origins, and the name if one node replaces another.
class Patch {
 public:
  Patch() = default;
  /// `reason`: why, for the log and for `verify`.
  explicit Patch(std::string reason) : reason_(std::move(reason)) {}
  /// Proposals refer to values that exist, or to values the patch itself makes.
  ValueId add_constant(std::string name, Tensor t);
  std::vector<ValueId> add_node(std::string op, std::vector<ValueId> inputs, size_t outputs,
                                Attributes attributes = {}, std::string domain = {});
  /// Adds a node of one output.
  ValueId add(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return add_node(std::move(op), std::move(inputs), 1, std::move(attributes))[0];
  }
  void remove(NodeId n) { removed_.push_back(n); }
  /// All readers of `from` read `to` instead, except what the patch adds. An output of the graph can only be
  /// replaced by a value that the patch makes, which then takes over its name.
  void replace_uses(ValueId from, ValueId to) { replaced_.emplace_back(from, to); }
  const std::string& reason() const { return reason_; }
  const std::vector<Node>& added() const { return added_; }
  const std::vector<NodeId>& removed() const { return removed_; }
  bool empty() const { return added_.empty() && removed_.empty() && replaced_.empty(); }

  struct Applied {
    std::vector<NodeId> added, touched;                 // touched: those that read something else now
    std::vector<std::pair<ValueId, ValueId>> replaced;  // ids of the graph
  };
  /// Throws before any change when the patch does not fit the graph.
  Applied apply(Graph& g, UseIndex& uses) const;

  /// The same in two steps: after stage() the new nodes are in the graph, but nothing reads them yet.
  struct Staged {
    std::vector<NodeId> added;
    std::vector<std::pair<ValueId, ValueId>> replaced;
    size_t first_value = 0, first_node = 0;
  };
  Staged stage(Graph& g) const;
  /// Makes the nodes that were staged last part of the graph; take_back() removes them instead.
  Applied commit(Graph& g, UseIndex& uses, const Staged& staged) const;
  void take_back(Graph& g, const Staged& staged) const { g.truncate(staged.first_value, staged.first_node); }

 private:
  /// Ids made by the patch start here, and are translated on apply.
  static constexpr uint32_t own = 0x80000000u;
  struct Made {
    int32_t node;    // index into added_, or -1 for a constant
    uint32_t index;  // which output, or which constant
  };
  void check_fits(const Graph& g) const;
  std::string reason_;
  std::vector<Node> added_;
  std::vector<std::pair<std::string, Tensor>> constants_;
  std::vector<Made> made_;  // by own id
  std::vector<NodeId> removed_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace lathe
