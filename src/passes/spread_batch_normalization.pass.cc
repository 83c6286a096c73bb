// A BatchNormalization by constants that no convolution takes in becomes Mul and Add, which are fused with
// what comes before and after.
#include "ops/norm/norm.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::optional<Patch> propose(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto op = decode<BatchNormalization>(n.attributes);
  const auto rank = view.rank(n.inputs[0]);
  if (op.training_mode || !rank || *rank < 2 || view.made_by(n.inputs[0], "Conv") ||
      view.type(n.inputs[0]).elem != DataType::float32)
    return std::nullopt;
  for (size_t i = 1; i <= 4; ++i)
    if (!view.is_constant(n.inputs[i]) || view.type(n.inputs[i]).elem != DataType::float32)
      return std::nullopt;

  Patch p("BatchNormalization by constants is a scale and a shift of each channel");
  Tensor epsilon(DataType::float32, {});
  epsilon.as<float>()[0] = op.epsilon;
  const ValueId variance = p.add("Add", {n.inputs[4], p.add_constant("epsilon", std::move(epsilon))});
  const ValueId scale = p.add("Div", {n.inputs[1], p.add("Sqrt", {variance})});
  const ValueId shift = p.add("Sub", {n.inputs[2], p.add("Mul", {n.inputs[3], scale})});
  std::vector<int64_t> channels(*rank - 1, 1);
  channels[0] = -1;
  const ValueId shape =
      p.add_constant("channels", Tensor::from<int64_t>({static_cast<int64_t>(channels.size())}, channels));
  const ValueId scaled = p.add("Mul", {n.inputs[0], p.add("Reshape", {scale, shape})});
  p.replace_uses(n.outputs[0], p.add("Add", {scaled, p.add("Reshape", {shift, shape})}));
  p.remove(id);
  return p;
}

}  // namespace

void pass_spread_batch_normalization(PassList& all) {
  all.push_back({.name = "spread-batch-normalization",
                 .says = "turns BatchNormalization by constants into a scale and a shift",
                 .level = OptimizationLevel::all,
                 .anchors = {"BatchNormalization"},
                 .propose = propose});
}

}  // namespace lathe
