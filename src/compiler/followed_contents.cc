#include "compiler/followed_contents.h"

#include <algorithm>

#include "tensor/contents.h"

namespace lathe {
namespace {

/// Returns whether the value may be small enough for its contents to be followed.
bool is_small(const ValueInfo& v) {
  if (v.type.kind != ValueType::Kind::tensor || !is_tracked(v.type.elem)) return false;
  int64_t least = 1;
  for (const Dim& d : v.type.shape.value_or(std::vector<Dim>{})) {
    const int64_t size = d.value().value_or(1);
    if (size > max_tracked_values) return false;
    least *= size;
    if (least > max_tracked_values) return false;
  }
  return true;
}

/// Operands that determine shapes are lists.
bool is_list(const ValueInfo& v) { return !v.type.shape || v.type.shape->size() <= 1; }

}  // namespace

std::vector<bool> followed_contents(const Graph& graph, const std::vector<NodeId>& order,
                                    const KernelCatalog& kernels) {
  std::vector<bool> follows(graph.value_count()), determines(graph.value_count());
  const auto is_known = [&](ValueId v) {
    return v == no_id || follows[v] || (graph.value(v).is_constant() && is_small(graph.value(v)));
  };
  for (NodeId id : order) {
    const Node& n = graph.node(id);
    const bool of_shapes = n.domain.empty() && (n.op == "Shape" || n.op == "Size");
    if (!of_shapes && (n.inputs.empty() || !n.bodies.empty() || !std::ranges::all_of(n.inputs, is_known)))
      continue;
    for (ValueId v : n.outputs)
      if (v != no_id) follows[v] = is_small(graph.value(v));
  }
  // Elementwise operators pass contents on; lists that other operators read may determine shapes.
  for (size_t i = order.size(); i-- > 0;) {
    const Node& n = graph.node(order[i]);
    const bool passes_on = kernels.pointwise_of(n.domain, n.op) != nullptr;
    const bool out =
        std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && follows[v] && determines[v]; });
    for (ValueId v : n.inputs)
      if (v != no_id && (out || (!passes_on && is_list(graph.value(v))))) determines[v] = true;
  }
  for (size_t v = 0; v < determines.size(); ++v) determines[v] = determines[v] && follows[v];
  return determines;
}

}  // namespace lathe
