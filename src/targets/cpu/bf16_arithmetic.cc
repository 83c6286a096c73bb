#include "targets/cpu/bf16_arithmetic.h"

#include <algorithm>
#include <map>

#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

/// Weights with fewer elements are not worth the loss.
constexpr int64_t min_bf16_weights = 4096;

class Bf16Rewrite {
 public:
  explicit Bf16Rewrite(Graph& g) : graph_(g) {}

  bool run_convolutions() {
    bool changed = false;
    for (NodeId id : graph_.order()) {
      if (!is_bf16_convolution(graph_.node(id))) continue;
      Node n = graph_.node(id);
      n.op = "Bf16BlockedConv";
      n.inputs.set(1, as_bf16(n.inputs[1]));
      graph_.remove_node(id);
      graph_.add_node(std::move(n));
      changed = true;
    }
    return changed;
  }

  bool run() {
    bool changed = false;
    for (NodeId id : graph_.order()) {
      if (!can_be_bf16(graph_.node(id))) continue;
      use_bf16(id);
      changed = true;
    }
    return changed;
  }

 private:
  static bool is_float(DataType t) {
    return t == DataType::float32 || t == DataType::float16 || t == DataType::bfloat16;
  }

  bool is_bf16_convolution(const Node& n) const {
    using Ints = std::vector<int64_t>;
    if (n.domain != "lathe" || n.op != "BlockedConv" || n.attributes.get<int64_t>("group", 1) != 1 ||
        n.attributes.get<int64_t>("nchw_input", 0) != 0)
      return false;
    const Tensor* w = graph_.constant_tensor(n.inputs[1]);
    if (!w || w->size() < min_bf16_weights || !is_float(w->type())) return false;
    const Shape& s = w->shape();
    const bool winograd = s.size() == 4 && s[2] == 3 && s[3] == 3 &&
                          list_or(n.attributes, "strides", {1, 1}) == Ints{1, 1} &&
                          list_or(n.attributes, "dilations", {1, 1}) == Ints{1, 1};
    return !winograd;
  }

  bool can_be_bf16(const Node& n) const {
    if (!n.domain.empty() || (n.op != "MatMul" && n.op != "Gemm")) return false;
    const Tensor* w = graph_.constant_tensor(n.inputs[1]);
    const ValueType& x = graph_.value(n.inputs[0]).type;
    const bool weighty = w && w->rank() == 2 && w->size() >= min_bf16_weights && is_float(w->type());
    if (!weighty || x.elem != DataType::float32 || !x.shape || x.shape->empty()) return false;
    const bool transposed = n.attributes.get<int64_t>("transB", 0) != 0;
    return w->dim(transposed ? 1 : 0) % 2 == 0 &&
           (n.op == "MatMul" || is_plain(n, w->dim(transposed ? 0 : 1)));
  }

  /// A Gemm that adds nothing but a bias of `size` elements.
  bool is_plain(const Node& n, int64_t size) const {
    if (n.attributes.get<int64_t>("transA", 0) != 0 || n.attributes.get<float>("alpha", 1) != 1) return false;
    if (n.inputs.size() < 3 || n.inputs[2] == no_id) return true;
    const ValueType& bias = graph_.value(n.inputs[2]).type;
    return n.attributes.get<float>("beta", 1) == 1 && bias.shape && bias.shape->size() == 1 &&
           (*bias.shape)[0] == Dim(size);
  }

  void use_bf16(NodeId id) {
    Node n = graph_.node(id);
    n.domain = "lathe";
    n.op = "Bf16MatMul";
    Attributes kept;
    kept.set("transB", n.attributes.get<int64_t>("transB", 0));
    n.attributes = std::move(kept);
    n.inputs.set(1, as_bf16(n.inputs[1]));
    graph_.remove_node(id);
    graph_.add_node(std::move(n));
  }

  ValueId as_bf16(ValueId v) {
    if (graph_.value(v).type.elem == DataType::bfloat16) return v;
    if (const auto at = bf16_.find(v); at != bf16_.end()) return at->second;
    ValueType type = graph_.value(v).type;
    type.elem = DataType::bfloat16;
    Node cast;
    cast.op = "Cast";
    cast.inputs = {v};
    cast.outputs = {graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".bf16"), std::move(type))};
    cast.attributes.set("to", static_cast<int64_t>(DataType::bfloat16));
    bf16_[v] = cast.outputs[0];
    graph_.add_node(std::move(cast));
    return bf16_[v];
  }

  Graph& graph_;
  std::map<ValueId, ValueId> bf16_;
};

}  // namespace

bool use_bf16_arithmetic(Graph& graph) { return Bf16Rewrite(graph).run(); }
bool use_bf16_convolutions(Graph& graph) { return Bf16Rewrite(graph).run_convolutions(); }

}  // namespace lathe
