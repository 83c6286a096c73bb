// Graphs of standard operators, made by hand and inferred as they grow.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "eval/eval.h"
#include "graph/graph.h"
#include "schema/infer.h"

namespace lathe::testing {

/// Builds one graph; types follow from inference when `run` or `infer` is called.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph* parent = nullptr) : graph(std::make_shared<Graph>(parent)) {}

  /// "float[N,3]".
  ValueId input(const std::string& name, const std::string& type) {
    return graph->add_input(name, ValueType::parse(type));
  }
  ValueId constant(Tensor t) { return graph->add_constant(graph->fresh_name("c"), std::move(t)); }
  ValueId ints(const std::vector<int64_t>& v) {
    return constant(Tensor::from({static_cast<int64_t>(v.size())}, v));
  }
  std::vector<ValueId> nodes(std::string op, std::vector<ValueId> inputs, size_t outputs,
                             Attributes attributes = {}, std::vector<Body> bodies = {}) {
    Node n;
    n.name = graph->fresh_name(op);
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    n.bodies = std::move(bodies);
    for (size_t i = 0; i < outputs; ++i)
      n.outputs.push_back(graph->add_value(graph->fresh_name(n.name + "_out")));
    const std::vector<ValueId> made = n.outputs;
    graph->add_node(std::move(n));
    return made;
  }
  ValueId node(std::string op, std::vector<ValueId> inputs, Attributes attributes = {},
               std::vector<Body> bodies = {}) {
    return nodes(std::move(op), std::move(inputs), 1, std::move(attributes), std::move(bodies))[0];
  }

  void infer() {
    InferState state;
    infer_graph(*graph, SchemaCatalog::standard(), state);
  }
  /// After infer(): "float[N,3]".
  std::string type(ValueId v) const { return graph->value(v).type.str(); }
  std::vector<Value> run(const std::vector<Value>& inputs, std::vector<ValueId> outputs,
                         const EvalOptions& options = {}) {
    graph->set_outputs(std::move(outputs));
    infer();
    return evaluate(*graph, inputs, options);
  }

  std::shared_ptr<Graph> graph;
};

inline Attributes attributes(std::vector<Attributes::Entry> entries) {
  Attributes a;
  for (auto& e : entries) a.set(std::move(e.name), std::move(e.value));
  return a;
}

template <class T>
std::vector<T> elements(const Value& v) {
  return {v.tensor().as<T>().begin(), v.tensor().as<T>().end()};
}

}  // namespace lathe::testing
