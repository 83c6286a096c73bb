#include <algorithm>
#include <optional>

#include "targets/cpu/quantized_layout.h"
#include "targets/cpu/quantized_view.h"

namespace lathe {
namespace {

class QuantizedProducts {
 public:
  QuantizedProducts(Graph& g, const Folds& folds, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), view_(g, folds), kernels_(kernels), preference_(preference) {}

  bool run() {
    for (NodeId id : graph_.order()) {
      if (!graph_.node(id).domain.empty()) continue;
      const std::string op = graph_.node(id).op;
      if (op == "Mul") convert_scaled(id);
      if (op == "MatMul") convert_product(id);
      if (op == "Gemm") convert_gemm(id);
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

  /// Converts MatMulInteger, Cast, and Mul with a scale or a product of two.
  void convert_scaled(NodeId id) {
    for (size_t side : {0u, 1u}) {
      const Node mul = graph_.node(id);
      const Node* cast = made_by(mul.inputs[side], "Cast");
      const Node* product = cast ? made_by(cast->inputs[0], "MatMulInteger") : nullptr;
      if (!product || graph_.value(cast->outputs[0]).type.elem != DataType::float32 ||
          !view_.read_once(cast->outputs[0]) || !view_.read_once(product->outputs[0]))
        continue;
      const auto scales = factors(mul.inputs[1 - side]);
      Node n = *product;
      n.inputs.resize(4, no_id);
      for (ValueId scale : {scales.first, scales.second}) n.inputs.push_back(scale);
      n.outputs = mul.outputs;
      if (auto made = runnable(std::move(n))) return put(id, std::move(*made));
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

  /// Returns the product of numbers and weights that were bytes, which makes `y`.
  std::optional<Node> product(const Node& of, bool transposed, ValueId y) {
    const auto a = view_.number(of.inputs[0]);
    const auto b = view_.weights(of.inputs[1]);
    if (!a) return std::nullopt;
    if (const auto other = view_.number(of.inputs[1]); other && !transposed)
      return runnable(product_of(of, *a, *other, y));
    if (!b || b->tensor().rank() != 2 || (b->scales() != 1 && b->axis != (transposed ? 0 : 1)))
      return std::nullopt;
    Node n = of;
    n.inputs = {a->bytes, view_.add(b->bytes), view_.zero_or_made(a->zero, a->bytes), view_.zero_or_made(*b),
                a->scale, view_.add(b->scale)};
    n.attributes = {};
    n.attributes.set("transposed", int64_t{transposed});
    n.outputs = {y};
    return runnable(std::move(n));
  }

  /// Returns the product of two values that a run computes.
  Node product_of(const Node& of, const QuantizedValue& a, const QuantizedValue& b, ValueId y) {
    Node n = of;
    n.inputs = {a.bytes, b.bytes, view_.zero_or_made(a.zero, a.bytes), view_.zero_or_made(b.zero, b.bytes),
                a.scale, b.scale};
    n.attributes = {};
    n.outputs = {y};
    return n;
  }

  /// Converts a product of two such values that is quantized at once.
  bool convert_stored(NodeId id) {
    const Node product = graph_.node(id);
    const auto a = view_.number(product.inputs[0]), b = view_.number(product.inputs[1]);
    const NodeId last = view_.reader(product.outputs[0]);
    if (!a || !b || last == no_id || graph_.node(last).inputs[0] != product.outputs[0]) return false;
    const auto quant = view_.stored(graph_.node(last));
    if (!quant) return false;
    Node n = product;
    n.op = "QLinearMatMul";
    n.inputs = {a->bytes,
                a->scale,
                view_.zero_or_made(a->zero, a->bytes),
                b->bytes,
                b->scale,
                view_.zero_or_made(b->zero, b->bytes),
                quant->scale,
                view_.zero_or_made(quant->zero, quant->bytes)};
    n.attributes = {};
    n.outputs = {quant->bytes};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    const Node& quantize = graph_.node(last);
    n.origin.insert(n.origin.end(), quantize.origin.begin(), quantize.origin.end());
    put(last, std::move(n));
    return true;
  }

  void convert_product(NodeId id) {
    if (convert_stored(id)) return;
    if (auto n = product(graph_.node(id), false, graph_.node(id).outputs[0])) put(id, std::move(*n));
  }

  /// Converts to the product and an Add.
  void convert_gemm(NodeId id) {
    const Node gemm = graph_.node(id);
    const bool transposed = gemm.attributes.get<int64_t>("transB", 0) != 0;
    if (gemm.attributes.get<float>("alpha", 1) != 1 || gemm.attributes.get<float>("beta", 1) != 1 ||
        gemm.attributes.get<int64_t>("transA", 0) != 0)
      return;
    const ValueId y = gemm.outputs[0], bias = gemm.inputs.size() > 2 ? gemm.inputs[2] : no_id;
    const ValueId made =
        bias == no_id ? y : graph_.add_value(graph_.fresh_name(graph_.value(y).name), graph_.value(y).type);
    auto n = product(gemm, transposed, made);
    if (!n) return;
    put(id, std::move(*n));
    if (bias == no_id) return;
    Node add;
    add.op = "Add";
    add.name = gemm.name;
    add.origin = gemm.origin;
    add.inputs = {made, bias};
    add.outputs = {y};
    graph_.add_node(std::move(add));
  }

  std::optional<Node> runnable(Node n) const {
    n.domain = "lathe";
    n.op = "ScaledMatMulInteger";
    if (!has_kernel(graph_, n, kernels_, preference_)) return std::nullopt;
    return n;
  }
  void put(NodeId last, Node n) {
    graph_.remove_node(last);
    graph_.add_node(std::move(n));
    changed_ = true;
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
