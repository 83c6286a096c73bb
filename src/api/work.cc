#include "api/work.h"

#include "compiler/arithmetic.h"

namespace lathe {
namespace {

/// Returns the inferred shapes of a node's operands, in the form that the count takes.
OperandShapes<Dim> shapes_of(const Graph& g, const Node& n, std::vector<const SymShape*>& inputs,
                             std::vector<const SymShape*>& outputs) {
  const auto shape = [&](ValueId v) {
    return v != no_id && g.value(v).type.shape ? &*g.value(v).type.shape : nullptr;
  };
  for (ValueId v : n.inputs) inputs.push_back(shape(v));
  for (ValueId v : n.outputs)
    if (v != no_id && g.value(v).type.is_tensor()) outputs.push_back(shape(v));
  return {inputs, outputs};
}

std::optional<Dim> arithmetic(const Graph& g, const Node& n, const SchemaCatalog& catalog) {
  const auto kind = arithmetic_of(catalog, n.domain, n.op);
  if (!kind) return std::nullopt;
  std::vector<const SymShape*> inputs, outputs;
  const OperandShapes<Dim> shapes = shapes_of(g, n, inputs, outputs);
  return count_arithmetic(*kind, shapes,
                          [&] { return catalog.find(n.domain, n.op)->operations()(n.attributes, shapes); });
}

void add(Work& to, const Work& more) {
  to.flops = to.flops + more.flops;
  to.unknown_nodes += more.unknown_nodes;
}

Work work_of_bodies(const Node& n, const SchemaCatalog& catalog) {
  Work total;
  for (const Body& body : n.bodies) {
    const Work w = work_of(*body.graph, catalog);
    if (n.op == "If")
      total = {max(total.flops, w.flops), total.unknown_nodes + w.unknown_nodes};
    else
      add(total, w);
  }
  return total;
}

}  // namespace

Work work_of(const Graph& g, const SchemaCatalog& catalog) {
  Work total;
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (!n.bodies.empty())
      add(total, work_of_bodies(n, catalog));
    else if (const auto flops = arithmetic(g, n, catalog))
      total.flops = total.flops + *flops;
    else
      ++total.unknown_nodes;
  }
  return total;
}

}  // namespace lathe
