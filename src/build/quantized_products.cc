#include <algorithm>

#include "build/quantized_layout.h"
#include "build/quantized_view.h"

namespace lathe {
namespace {

class QuantizedProducts {
 public:
  QuantizedProducts(Graph& g, const Folds& folds, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), view_(g, folds), kernels_(kernels), preference_(preference) {}

  bool run() {
    for (NodeId id : graph_.order()) {
      const Node& n = graph_.node(id);
      if (!n.domain.empty()) continue;
      if (n.op == "Mul") convert_scaled(id);
      if (n.op == "MatMul") convert_product(id);
    }
    return changed_;
  }

 private:
  const Node* made_by(ValueId v, const char* op) const {
    const NodeId p = v == no_id ? no_id : graph_.value(v).producer;
    return p != no_id && graph_.node(p).domain.empty() && graph_.node(p).op == op ? &graph_.node(p) : nullptr;
  }
  bool is_single(ValueId v) const {
    const auto& shape = graph_.value(v).type.shape;
    return shape && std::ranges::all_of(*shape, [](const Dim& d) { return d == Dim(1); });
  }

  /// MatMulInteger, Cast, Mul with a scale or a product of two.
  void convert_scaled(NodeId id) {
    for (size_t side : {0, 1}) {
      const Node mul = graph_.node(id);
      const Node* cast = made_by(mul.inputs[side], "Cast");
      const Node* product = cast ? made_by(cast->inputs[0], "MatMulInteger") : nullptr;
      if (!product || graph_.value(cast->outputs[0]).type.elem != DataType::float32 ||
          !view_.read_once(cast->outputs[0]) || !view_.read_once(product->outputs[0]))
        continue;
      const auto scales = factors(mul.inputs[1 - side]);
      Node n = *product;
      n.inputs.resize(4, no_id);
      n.inputs.insert(n.inputs.end(), {scales.first, scales.second});
      if (put(id, std::move(n))) return;
    }
  }

  /// The scale of A, and that of B.
  std::pair<ValueId, ValueId> factors(ValueId scale) {
    if (const Node* m = made_by(scale, "Mul")) {
      if (is_single(m->inputs[0])) return {m->inputs[0], m->inputs[1]};
      if (is_single(m->inputs[1])) return {m->inputs[1], m->inputs[0]};
    }
    const ValueId one =
        graph_.add_constant(graph_.fresh_name("one"), Tensor::from<float>({}, std::vector{1.0f}));
    return is_single(scale) ? std::pair(scale, one) : std::pair(one, scale);
  }

  /// MatMul of numbers and weights that were bytes.
  void convert_product(NodeId id) {
    const Node matmul = graph_.node(id);
    const auto a = view_.number(matmul.inputs[0]);
    const auto b = view_.weights(matmul.inputs[1]);
    if (!a || !b || b->tensor().rank() != 2 || (b->scales() != 1 && b->axis != 1)) return;
    Node n = matmul;
    n.inputs = {a->bytes, view_.add(b->bytes), view_.zero_or_made(a->zero, a->bytes), view_.zero_or_made(*b),
                a->scale, view_.add(b->scale)};
    put(id, std::move(n));
  }

  /// In the place of `last`, where a kernel takes it.
  bool put(NodeId last, Node n) {
    const Node old = graph_.node(last);
    n.domain = "lathe";
    n.op = "ScaledMatMulInteger";
    n.attributes = {};
    n.outputs = old.outputs;
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    graph_.remove_node(last);
    graph_.add_node(std::move(n));
    changed_ = true;
    return true;
  }

  Graph& graph_;
  QuantizedView view_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  bool changed_ = false;
};

}  // namespace

bool use_quantized_products(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                            const Preference& preference) {
  return QuantizedProducts(graph, folds, kernels, preference).run();
}

}  // namespace lathe
