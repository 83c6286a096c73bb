#include "compiler/cache_updates.h"

#include <algorithm>
#include <optional>

namespace lathe {
namespace {

bool is_zeros(const Graph& g, ValueId v) {
  const Tensor* const t = g.constant_tensor(v);
  if (!t || t->type() != DataType::int64) return false;
  return std::ranges::all_of(t->as<int64_t>(), [](int64_t n) { return n == 0; });
}

const Node* maker(const Graph& g, ValueId v) {
  const NodeId p = v == no_id ? no_id : g.value(v).producer;
  return p == no_id ? nullptr : &g.node(p);
}

/// Returns the only input of the pads that is not zeros, if it is one number, the pad at the end of `axis`;
/// else no_id.
ValueId added_at_end(const Graph& g, ValueId pads, size_t rank, size_t axis) {
  const Node* const joined = maker(g, pads);
  if (!joined || !joined->domain.empty() || joined->op != "Concat") return no_id;
  ValueId added = no_id;
  size_t at = 0;
  for (ValueId v : joined->inputs) {
    if (is_zeros(g, v)) {
      at += static_cast<size_t>(g.constant_tensor(v)->size());
      continue;
    }
    const auto& shape = g.value(v).type.shape;
    if (added != no_id || at != rank + axis || !shape || shape->size() != 1 || (*shape)[0].value() != 1)
      return no_id;
    added = v;
    ++at;
  }
  return at == 2 * rank ? added : no_id;
}

/// Returns whether the node is a Pad that adds zeros and has no input for axes.
bool pads_with_zeros(const Graph& g, const Node& n) {
  if (!n.domain.empty() || n.op != "Pad" || n.attributes.get<std::string>("mode", "constant") != "constant" ||
      n.inputs[3] != no_id)
    return false;
  if (n.inputs[2] == no_id) return true;
  const Tensor* const with = g.constant_tensor(n.inputs[2]);
  const auto* const bytes = with ? static_cast<const std::byte*>(with->data()) : nullptr;
  return bytes && std::all_of(bytes, bytes + with->bytes(), [](std::byte b) { return b == std::byte{}; });
}

}  // namespace

bool join_cache_update(Graph& graph, NodeId id) {
  Node& n = graph.node(id);
  if (!n.domain.empty() || n.op != "TensorScatter" || n.inputs[2] == no_id ||
      n.attributes.get<std::string>("mode", "linear") != "linear")
    return false;
  const ValueId padded = n.inputs[0];
  const Node* const pad = maker(graph, padded);
  if (!pad || !pads_with_zeros(graph, *pad) || graph.is_output(padded) || graph.uses_of(padded).size() != 1)
    return false;
  const ValueId cache = pad->inputs[0];
  const ValueType& type = graph.value(cache).type;
  if (!type.shape || bits_of(type.elem) < 8) return false;
  const auto rank = static_cast<int64_t>(type.shape->size());
  const int64_t given = n.attributes.get<int64_t>("axis", -2), axis = given < 0 ? given + rank : given;
  if (axis <= 0 || axis >= rank) return false;
  const ValueId added =
      added_at_end(graph, pad->inputs[1], static_cast<size_t>(rank), static_cast<size_t>(axis));
  if (added == no_id) return false;
  n.origin.insert(n.origin.end(), pad->origin.begin(), pad->origin.end());
  n.domain = "lathe";
  n.op = "UpdateCache";
  n.inputs = {cache, n.inputs[1], n.inputs[2], added};
  n.attributes = {};
  n.attributes.set("axis", axis);
  return true;
}

bool use_cache_updates(Graph& graph) {
  bool any = false;
  for (NodeId id : graph.order()) any |= join_cache_update(graph, id);
  return any;
}

}  // namespace lathe
