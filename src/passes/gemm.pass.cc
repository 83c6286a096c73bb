// MatMul of matrices followed by Add is Gemm; Transpose in front of Gemm is one of its attributes.
#include "passes/pass.h"

namespace lathe {
namespace {

std::optional<Patch> add(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const ValueId product = n.inputs[i], bias = n.inputs[1 - i];
    const Node* matmul = view.made_by(product, "MatMul");
    if (!matmul || !view.read_once(product) || view.rank(product) != 2 || view.rank(matmul->inputs[0]) != 2 ||
        view.rank(matmul->inputs[1]) != 2 || !view.same_type(product, n.outputs[0]) ||
        !view.is_constant(bias))
      continue;
    Patch p("MatMul and Add are Gemm");
    p.replace_uses(n.outputs[0], p.add("Gemm", {matmul->inputs[0], matmul->inputs[1], bias}));
    p.remove(id);
    p.remove(view.producer(product));
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> transposed(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* transpose = view.made_by(n.inputs[i], "Transpose");
    if (!transpose) continue;
    const auto perm = transpose->attributes.get<std::vector<int64_t>>("perm", {});
    if (!perm.empty() && perm != std::vector<int64_t>{1, 0}) continue;
    const std::string name = i == 0 ? "transA" : "transB";
    Patch p("Transpose is " + name + " of Gemm");
    Attributes attributes = n.attributes;
    attributes.set(name, attributes.get<int64_t>(name, 0) ? int64_t{0} : int64_t{1});
    std::vector<ValueId> inputs = n.inputs;
    inputs[i] = transpose->inputs[0];
    p.replace_uses(n.outputs[0], p.add("Gemm", std::move(inputs), std::move(attributes)));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_gemm(PassList& all) {
  all.push_back({.name = "gemm-add",
                 .says = "makes Gemm of MatMul and Add of a constant",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Add"},
                 .propose = add});
  all.push_back({.name = "gemm-transpose",
                 .says = "puts a Transpose into the Gemm after it",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Gemm"},
                 .propose = transposed});
}

}  // namespace lathe
