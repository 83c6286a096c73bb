// Type and shape inference: what the declaration of an operator says about the outputs of one node. Symbolic
// sizes are expressions over the symbols of the inputs; small integer tensors are followed element by element
// (Shape → Gather → Concat → Reshape), which the shape rules do and the engine carries from node to node.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "schema/schema.h"

namespace lathe {

/// What inference remembers between nodes. One thread.
class InferState {
 public:
  /// Elements of a small value of integers, where they are known: computed, or those of a constant.
  std::optional<std::vector<Dim>> values(const Graph& g, ValueId v) const;
  void set_values(const Graph& g, ValueId v, std::vector<Dim> values) {
    values_[{&g, v}] = std::move(values);
  }
  void forget_values(const Graph& g, ValueId v) { values_.erase({&g, v}); }

  /// What the file says of a value in a body. Bodies are inferred anew for every set of input types, and
  /// start from this.
  void declare(const Graph& g, ValueId v, ValueType type) { declared_[{&g, v}] = std::move(type); }
  ValueType declared(const Graph& g, ValueId v) const;
  /// What a whole graph says of the values in its bodies, as it is now.
  void declare_bodies(const Graph& g);

  /// Called before a body is inferred, its formal inputs typed: an importer that has not filled it yet does
  /// so, node by node with inference, and returns true.
  std::function<bool(Graph& body)> fill_body;
  /// Where inference of a graph notes the faults of nodes, those in bodies too, and goes on: what was found
  /// in the last round counts. Null: the first fault is thrown, unless the caller collects them.
  struct Fault {
    Graph* graph;
    NodeId node;
    auto operator<=>(const Fault&) const = default;
  };
  std::map<Fault, Diagnostic>* faults = nullptr;
  /// What a model declares of sizes that only constants tell may be wrong: is what follows from them believed
  /// more, or is it a fault?
  bool believe_inferred = false;
  /// Nodes in bodies that may still be inferred: nested loops whose types widen step by step would take
  /// exponential time.
  int64_t body_budget = 4'000'000;

 private:
  struct Key {
    const Graph* graph;
    ValueId value;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<const Graph*>()(k.graph) * 31 + k.value; }
  };
  std::unordered_map<Key, std::vector<Dim>, Hash> values_;
  std::unordered_map<Key, ValueType, Hash> declared_;
};

/// Types the outputs of one node, whose inputs are typed, and notes the contents of small integer outputs.
/// What was known of an output before is kept where inference knows less. A node of an operator that the
/// catalog does not have is left alone. Throws Error with the node, its operator, and its inputs with their
/// types: node_bad_arity, node_bad_attribute, node_bad_type, node_bad_shape, …
void infer_node(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state);

/// The same where the state collects faults, which is then all that comes of one.
void infer_or_note(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state);

/// All nodes, producers first. With `findings` the faults are collected, and inference goes on; else the
/// first one is thrown.
void infer_graph(Graph& g, const SchemaCatalog& catalog, InferState& state,
                 std::vector<Diagnostic>* findings = nullptr);

/// Would less, or something else, be known of the types and the elements of the node's outputs if nothing
/// were known of what input `i` holds? Of operators with bodies, which are asked in no such way: could it be?
/// The node has been inferred.
bool depends_on_contents(Graph& g, NodeId n, size_t input, const SchemaCatalog& catalog, InferState& state);

/// The elements of a small tensor of integers (contents.h).
std::optional<std::vector<Dim>> tracked_values(const Tensor& t);
/// The way back: a tensor of numbers of this type, where its sizes and all `values` are known and as many.
std::optional<Tensor> tensor_of(const ValueType& type, const std::vector<Dim>& values);

/// `inferred`, completed by what was known before where it knows less. Nothing when they contradict. Unlike
/// unify, an expression is kept against a number: what follows from the inputs is believed more than what
/// somebody wrote down.
std::optional<ValueType> refine(const ValueType& inferred, const ValueType& before);

/// Kind and element types alone.
ValueType without_shape(const ValueType& t);

}  // namespace lathe
