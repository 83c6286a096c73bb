// A BatchNormalization by constants that is not folded into a convolution becomes Mul and Add, which are
// fused with the operators before and after. For 16-bit floats it is calculated in float32, and rounded as
// before.
#include "ops/norm/norm.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

ValueId cast(Patch& p, ValueId v, DataType to) {
  Attributes attributes;
  attributes.set("to", static_cast<int64_t>(to));
  return p.add("Cast", {v}, attributes);
}

std::optional<Patch> propose_spread_batch_normalization(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto op = decode<BatchNormalization>(n.attributes);
  const auto rank = view.rank(n.inputs[0]);
  // It is folded into the weights of a convolution of float32; weights of 16 bits would be rounded anew.
  const bool taken_in = view.made_by(n.inputs[0], "Conv") && view.type(n.inputs[0]).elem == DataType::float32;
  if (op.training_mode || !rank || *rank < 2 || taken_in || !fits_float32(view.type(n.inputs[0]).elem))
    return std::nullopt;
  for (size_t i = 1; i <= 4; ++i)
    if (!view.is_constant(n.inputs[i]) || !fits_float32(view.type(n.inputs[i]).elem)) return std::nullopt;

  Patch p("BatchNormalization by constants is a scale and a shift of each channel");
  Tensor epsilon(DataType::float32, {});
  epsilon.as<float>()[0] = op.epsilon;
  const DataType type = view.type(n.inputs[0]).elem;
  const auto wide = [&](size_t i) {
    const ValueId v = n.inputs[i];
    return view.type(v).elem == DataType::float32 ? v : cast(p, v, DataType::float32);
  };
  const ValueId variance = p.add("Add", {wide(4), p.add_constant("epsilon", std::move(epsilon))});
  const ValueId scale = p.add("Div", {wide(1), p.add("Sqrt", {variance})});
  const ValueId shift = p.add("Sub", {wide(2), p.add("Mul", {wide(3), scale})});
  std::vector<int64_t> channels(*rank - 1, 1);
  channels[0] = -1;
  const ValueId shape =
      p.add_constant("channels", Tensor::from<int64_t>({static_cast<int64_t>(channels.size())}, channels));
  const ValueId scaled = p.add("Mul", {wide(0), p.add("Reshape", {scale, shape})});
  const ValueId shifted = p.add("Add", {scaled, p.add("Reshape", {shift, shape})});
  p.replace_uses(n.outputs[0], type == DataType::float32 ? shifted : cast(p, shifted, type));
  p.remove(id);
  return p;
}

}  // namespace

void pass_spread_batch_normalization(PassList& all) {
  all.push_back({.name = "spread-batch-normalization",
                 .description = "turns BatchNormalization by constants into a scale and a shift",
                 .level = OptimizationLevel::all,
                 .anchors = {"BatchNormalization"},
                 .propose = propose_spread_batch_normalization,
                 .for_own_kernels = true});
}

}  // namespace lathe
