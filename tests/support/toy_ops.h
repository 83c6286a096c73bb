// A handful of operators in the domain "toy", so that evaluator, builder and runtime are tested without any
// real operator.
//
//   Add(a, b) -> c                same shapes, float; reference, and a packing cpu kernel "toy.add.cpu"
//   Reshape(x, shape) -> y        the memory of x
//   Positive(x) -> y              the elements > 0: the shape depends on the data
//   Check(x) -> y                 a copy; run_bad_value when an element is negative
//   Spin(x) -> y                  polls for ever
//   Fill(shape) -> y              float zeros
//   Length(x) -> n                int64 scalar; its value follows from the shape
//   Choose(cond) {else, then}     runs one of two bodies
//   Repeat(n, states…) {body}     n times states = body(i, states…)
//   Collect(x, y) -> seq          a sequence of two tensors;  First(seq) -> x
#pragma once

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lathe/engine.h"
#include "schema/schema.h"

namespace lathe::test {

void register_toy_ops(KernelCatalog& catalog);
/// A catalog of toys alone.
const KernelCatalog& toy_catalog();

/// Signatures of toys that may be folded.
const SchemaCatalog& toy_schemas();
/// Builds an engine from a graph of toys, past reading and importing a file. The graph is changed.
Engine build_toys(Graph& graph, const BuildOptions& options = {});

/// Returns the type float32 of a shape in text: toy_type({"n", 3}).
ValueType f32(SymShape shape);

/// Shorthands to build graphs by hand.
class GraphMaker {
 public:
  explicit GraphMaker(Graph* parent = nullptr) : graph(std::make_shared<Graph>(parent)) {}
  ValueId input(std::string name, ValueType type) {
    return graph->add_input(std::move(name), std::move(type));
  }
  ValueId constant(std::string name, Tensor t) {
    std::string source = name;
    return graph->add_constant(std::move(name), std::move(t), std::move(source));
  }
  /// A node with outputs of the given types; the node's name is that of its first output.
  ValueId node(std::string op, std::vector<ValueId> inputs, std::string output, ValueType type,
               std::vector<Body> bodies = {});
  std::shared_ptr<Graph> graph;
};

Tensor floats(Shape shape, const std::vector<float>& v);
Tensor ints(const std::vector<int64_t>& v);
std::vector<float> list(const Value& v);

}  // namespace lathe::test
