// MatMul of matrices followed by Add becomes Gemm, and so does MatMul with transposed weights. A Transpose in
// front of Gemm becomes an attribute, and so does one behind it, with exchanged operands.
#include "passes/transposed_weights.h"

namespace lathe {
namespace {

std::optional<Patch> add(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() != 2) return std::nullopt;
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
    Operands inputs = n.inputs;
    inputs.set(i, transpose->inputs[0]);
    p.replace_uses(n.outputs[0], p.add("Gemm", std::move(inputs), std::move(attributes)));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

/// (A B)' = B' A'; the anchor is the Transpose.
std::optional<Patch> transposed_result(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* gemm = view.made_by(n.inputs[0], "Gemm");
  if (!gemm || !view.read_once(n.inputs[0]) || order_of(view, n) != std::vector<int64_t>{1, 0})
    return std::nullopt;
  // Weights are fast as the second operand.
  if (view.is_constant(gemm->inputs[1])) return std::nullopt;
  const ValueId bias = gemm->inputs.size() > 2 ? gemm->inputs[2] : no_id;
  if (bias != no_id && !view.is_constant(bias)) return std::nullopt;
  Patch p("Gemm of the operands in the other order");
  std::vector<ValueId> inputs{gemm->inputs[1], gemm->inputs[0]};
  if (bias != no_id) {
    const Tensor& t = *view.constant(bias);
    inputs.push_back(t.rank() == 2   ? add_transpose(p, bias, {1, 0})
                     : t.rank() == 1 ? p.add("Unsqueeze", {bias, p.add_constant("axes", ints({1}))})
                                     : bias);
  }
  Attributes a = gemm->attributes;
  a.set("transA", int64_t{gemm->attributes.get<int64_t>("transB", 0) == 0});
  a.set("transB", int64_t{gemm->attributes.get<int64_t>("transA", 0) == 0});
  p.replace_uses(n.outputs[0], p.add("Gemm", std::move(inputs), std::move(a)));
  p.remove(id);
  return p;
}

/// The anchor is the MatMul. Folding leaves the Transpose to this pass (compiler/fold.cc).
std::optional<Patch> of_transposed(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto uses = [&](ValueId v) -> const std::vector<Use>& { return view.uses(v); };
  const Node* transpose = view.made_by(n.inputs[1], "Transpose");
  if (!transpose || !is_transpose_for_products(view.graph(), *transpose, uses)) return std::nullopt;
  const std::vector<int64_t> sizes = sizes_of_product(view.graph(), uses(n.outputs[0]), n);
  Patch p("Gemm of weights as they are stored");
  Attributes a;
  a.set("transB", int64_t{1});
  const ValueId w = transpose->inputs[0];
  if (sizes.size() == 2) {
    p.replace_uses(n.outputs[0], p.add("Gemm", {n.inputs[0], w}, std::move(a)));
  } else {
    const int64_t depth = view.constant(w)->shape()[1];
    const ValueId rows = p.add("Reshape", {n.inputs[0], p.add_constant("rows", ints({-1, depth}))});
    p.replace_uses(n.outputs[0], p.add("Reshape", {p.add("Gemm", {rows, w}, std::move(a)),
                                                   p.add_constant("sizes", ints(sizes))}));
  }
  p.remove(id);
  return p;
}

}  // namespace

void pass_gemm(PassList& all) {
  all.push_back({.name = "gemm-add",
                 .description = "makes Gemm of MatMul and Add of a constant",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Add", "Sum"},
                 .propose = add});
  all.push_back({.name = "gemm-of-transposed-weights",
                 .description = "makes Gemm of MatMul with large weights that would have to be transposed",
                 .level = OptimizationLevel::basic,
                 .anchors = {"MatMul"},
                 .propose = of_transposed});
  all.push_back({.name = "gemm-transpose",
                 .description = "puts a Transpose into the Gemm after it",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Gemm"},
                 .propose = transposed});
  all.push_back({.name = "gemm-transpose-result",
                 .description = "computes a Gemm the other way round where its result is transposed",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Transpose"},
                 .propose = transposed_result});
}

}  // namespace lathe
