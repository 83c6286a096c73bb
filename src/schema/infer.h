// Type and shape inference: what the declaration of an operator says about the outputs of one node. Symbolic
// sizes are expressions over the symbols of the inputs. The contents of small integer tensors are known
// element by element (Shape → Gather → Concat → Reshape): shape rules compute them, and inference passes them
// on.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "schema/schema.h"

namespace lathe {

/// The state that inference keeps between nodes. For one thread.
class InferState {
 public:
  /// Returns the elements of a small value of integers, if they are known: computed, or those of a constant.
  std::optional<std::vector<Dim>> values(const Graph& g, ValueId v) const;
  void set_values(const Graph& g, ValueId v, std::vector<Dim> values) {
    values_[{&g, v}] = std::move(values);
  }
  void forget_values(const Graph& g, ValueId v) { values_.erase({&g, v}); }

  /// Notes the type that the file declares for a value in a body. Bodies are inferred again for every set of
  /// input types, and start from this.
  void declare(const Graph& g, ValueId v, ValueType type) { declared_[{&g, v}] = std::move(type); }
  ValueType declared(const Graph& g, ValueId v) const;
  /// Declares the values in the bodies of a graph with their present types.
  void declare_bodies(const Graph& g);

  /// Called before a body is inferred, its formal inputs typed: an importer that has not filled it yet does
  /// so, node by node with inference, and returns true.
  std::function<bool(Graph& body)> fill_body;
  /// If set, inference of a graph notes the faults of nodes here, those in bodies too, and goes on; faults of
  /// the last round count. Null: the first fault is thrown, unless the caller collects them.
  struct Fault {
    Graph* graph;
    NodeId node;
    auto operator<=>(const Fault&) const = default;
  };
  std::map<Fault, Diagnostic>* faults = nullptr;
  /// Declared sizes may contradict those that follow from constants. True: the declared ones are ignored;
  /// false: it is a fault.
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

/// Infers the types of the outputs of one node, whose inputs have types, and notes the contents of small
/// integer outputs. Facts that were known about an output before are kept if inference knows less. A node of
/// an operator that the catalog does not have is skipped. Throws Error with the node, its operator, and its
/// inputs with their types: node_bad_arity, node_bad_attribute, node_bad_type, node_bad_shape, …
void infer_node(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state);

/// The same for a state that collects faults: they are noted there, and not thrown.
void infer_or_note(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state);

/// Infers all nodes, producers first. With `findings` the faults are collected, and inference goes on; else
/// the first one is thrown.
void infer_graph(Graph& g, const SchemaCatalog& catalog, InferState& state,
                 std::vector<Diagnostic>* findings = nullptr);

/// Returns whether less, or something else, would be known of the types and the elements of the node's
/// outputs if the contents of input `i` were unknown. For operators with bodies, returns whether that is
/// possible. The node has been inferred.
bool depends_on_contents(Graph& g, NodeId n, size_t input, const SchemaCatalog& catalog, InferState& state);

/// Returns the elements of a small tensor of integers (contents.h).
std::optional<std::vector<Dim>> tracked_values(const Tensor& t);
/// The inverse: returns a tensor of this type, if its sizes and all `values` are known and their number is
/// right.
std::optional<Tensor> tensor_of(const ValueType& type, const std::vector<Dim>& values);

/// Returns `inferred`, completed by what was known before. Nothing when they contradict. Unlike unify, an
/// expression is preferred to a number: what follows from the inputs is more reliable than a declaration.
std::optional<ValueType> refine(const ValueType& inferred, const ValueType& before);

/// Kind and element types alone.
ValueType without_shape(const ValueType& t);

}  // namespace lathe
