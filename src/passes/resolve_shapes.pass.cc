// Replaces integer tensors that follow from fixed sizes by constants: Shape, Gather, Concat, Mul … of a model
// without dynamic axes there.
#include "passes/pass.h"

namespace lathe {
namespace {

std::optional<Patch> propose_resolve_shapes(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.outputs.size() != 1 || n.outputs[0] == no_id || !n.bodies.empty()) return std::nullopt;
  const ValueId v = n.outputs[0];
  const ValueType& t = view.type(v);
  if (view.is_output(v) || !t.is_tensor() || !t.shape ||
      (t.elem != DataType::int64 && t.elem != DataType::int32))
    return std::nullopt;
  const auto numbers = view.integers(v);
  if (!numbers) return std::nullopt;
  Shape shape;
  for (const Dim& d : *t.shape) {
    if (!d.is_constant()) return std::nullopt;
    shape.push_back(d.constant());
  }
  Tensor tensor(t.elem, shape);
  if (tensor.size() != static_cast<int64_t>(numbers->size())) return std::nullopt;
  for (size_t i = 0; i < numbers->size(); ++i) {
    if (t.elem == DataType::int64)
      tensor.as<int64_t>()[i] = (*numbers)[i];
    else
      tensor.as<int32_t>()[i] = static_cast<int32_t>((*numbers)[i]);
  }
  Patch p("sizes known before running");
  p.replace_uses(v, p.add_constant(view.graph().value(v).name, std::move(tensor)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_resolve_shapes(PassList& all) {
  all.push_back({.name = "resolve-shapes",
                 .description = "replaces computations of sizes by the sizes, where they are fixed",
                 .level = OptimizationLevel::basic,
                 .anchors = {},
                 .propose = propose_resolve_shapes});
}

}  // namespace lathe
