// Finds the node that makes a value, and adds nodes that change types.
#pragma once

#include <string_view>
#include <utility>

#include "graph/traverse.h"

namespace lathe {

/// Returns the node that makes a value if it is such an operator, else null.
inline const Node* made_by(const Graph& g, ValueId v, std::string_view op, std::string_view domain = {}) {
  const NodeId p = v == no_id ? no_id : g.value(v).producer;
  return p != no_id && g.node(p).domain == domain && g.node(p).op == op ? &g.node(p) : nullptr;
}

/// Adds a Cast of `from` that makes `to`.
inline void add_cast(Graph& g, ValueId from, ValueId to) {
  Node n;
  n.op = "Cast";
  n.inputs = {from};
  n.outputs = {to};
  n.attributes.set("to", static_cast<int64_t>(g.value(to).type.elem));
  g.add_node(std::move(n));
}

}  // namespace lathe
