// A change of shape between a product and an elementwise operator goes behind that: then the operator is done
// where the product is, and changes of shape meet.
#include "passes/patterns.h"

namespace lathe {
namespace {

bool is_product(const Node& n) { return View::is(n, "Gemm") || View::is(n, "MatMul") || View::is(n, "Conv"); }

/// The anchor is the change of shape.
std::optional<Patch> propose(const View& view, NodeId id) {
  const Node& shape = view.node(id);
  const NodeId product = view.producer(shape.inputs[0]);
  if (product == no_id || !is_product(view.node(product)) || !view.read_once(shape.inputs[0]) ||
      !view.read_once(shape.outputs[0]))
    return std::nullopt;
  const NodeId at = view.uses(shape.outputs[0])[0].node;
  const Node& n = view.node(at);
  if (!is_elementwise(n) || n.inputs.size() != 1 || !view.same_type(shape.outputs[0], n.outputs[0]))
    return std::nullopt;
  Patch p(n.op + " where the product is, before a change of shape");
  std::vector<ValueId> inputs = shape.inputs;
  inputs[0] = p.add(n.op, {shape.inputs[0]}, n.attributes);
  p.replace_uses(n.outputs[0], p.add(shape.op, std::move(inputs), shape.attributes));
  p.remove(at);
  p.remove(id);
  return p;
}

}  // namespace

void pass_sink_reshapes(PassList& all) {
  all.push_back(
      {.name = "sink-reshapes",
       .says = "moves changes of shape from between products and elementwise operators behind these",
       .level = OptimizationLevel::extended,
       .anchors = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"},
       .propose = propose});
}

}  // namespace lathe
