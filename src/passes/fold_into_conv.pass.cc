// What follows a convolution and scales or shifts whole channels by constants goes into its weights and its
// bias; a Pad with zeros in front goes into its pads. The arithmetic is left to constant folding, and is only
// proposed where it is done in the precision that the convolution has.
#include <algorithm>

#include "ops/conv/conv.h"
#include "ops/norm/norm.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// A Conv of constant weights that only this reader wants.
const Node* conv_for(const View& view, ValueId v) {
  const Node* conv = view.made_by(v, "Conv");
  if (!conv || !view.read_once(v) || !view.is_constant(conv->inputs[1])) return nullptr;
  if (conv->inputs.size() > 2 && conv->inputs[2] != no_id && !view.is_constant(conv->inputs[2]))
    return nullptr;
  const DataType t = view.type(conv->inputs[1]).elem;
  return t == DataType::float32 || t == DataType::float64 ? conv : nullptr;
}

ValueId bias_of(const Node& conv) { return conv.inputs.size() > 2 ? conv.inputs[2] : no_id; }

/// One number for each output channel, as something to calculate with: [M], from [1, M, 1, 1], [M, 1, 1] or
/// one element.
std::optional<ValueId> per_channel(const View& view, Patch& p, ValueId v, const Node& conv) {
  const Tensor* t = view.constant(v);
  if (!t) return std::nullopt;
  const Tensor& weights = *view.constant(conv.inputs[1]);
  const int64_t channels = weights.shape()[0];
  const size_t rank = weights.shape().size();
  const Shape& s = t->shape();
  if (s.size() > rank) return std::nullopt;
  int64_t found = 1;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool is_channel = rank - s.size() + i == 1;
    if (s[i] != 1 && !is_channel) return std::nullopt;
    if (is_channel) found = s[i];
  }
  if (found != 1 && found != channels) return std::nullopt;
  const ValueId shape = p.add_constant("channels", Tensor::from<int64_t>({1}, std::vector<int64_t>{found}));
  const ValueId flat = p.add("Reshape", {v, shape});
  if (found == channels) return flat;
  return p.add("Expand", {flat, p.add_constant("channels",
                                               Tensor::from<int64_t>({1}, std::vector<int64_t>{channels}))});
}

/// Weights [M, …] times [M].
ValueId scaled_weights(const View& view, Patch& p, const Node& conv, ValueId scale) {
  Shape shape(view.constant(conv.inputs[1])->shape().size(), 1);
  shape[0] = -1;
  const ValueId column =
      p.add_constant("column", Tensor::from<int64_t>({static_cast<int64_t>(shape.size())},
                                                     std::vector<int64_t>(shape.begin(), shape.end())));
  return p.add("Mul", {conv.inputs[1], p.add("Reshape", {scale, column})});
}

Patch replaced(const View& view, Patch p, NodeId id, ValueId weights, ValueId bias) {
  const NodeId conv_id = view.producer(view.node(id).inputs[0]);
  const Node& conv = view.node(conv_id);
  std::vector<ValueId> inputs{conv.inputs[0], weights};
  if (bias != no_id) inputs.push_back(bias);
  p.replace_uses(view.node(id).outputs[0], p.add("Conv", std::move(inputs), conv.attributes));
  p.remove(id);
  p.remove(conv_id);
  return p;
}

std::optional<Patch> batch_normalization(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* conv = conv_for(view, n.inputs[0]);
  const auto op = decode<BatchNormalization>(n.attributes);
  if (!conv || op.training_mode) return std::nullopt;
  const DataType t = view.type(conv->inputs[1]).elem;
  for (size_t i = 1; i <= 4; ++i)
    if (!view.is_constant(n.inputs[i]) || view.type(n.inputs[i]).elem != t) return std::nullopt;

  Patch p("BatchNormalization goes into the weights of the convolution");
  Tensor epsilon(t, {});
  if (t == DataType::float32)
    epsilon.as<float>()[0] = op.epsilon;
  else
    epsilon.as<double>()[0] = op.epsilon;
  const ValueId variance = p.add("Add", {n.inputs[4], p.add_constant("epsilon", std::move(epsilon))});
  const ValueId scale = p.add("Div", {n.inputs[1], p.add("Sqrt", {variance})});
  const ValueId mean = bias_of(*conv) == no_id ? n.inputs[3] : p.add("Sub", {n.inputs[3], bias_of(*conv)});
  const ValueId bias = p.add("Sub", {n.inputs[2], p.add("Mul", {mean, scale})});
  const ValueId weights = scaled_weights(view, p, *conv, scale);
  return replaced(view, std::move(p), id, weights, bias);
}

std::optional<Patch> scale(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* conv = conv_for(view, n.inputs[0]);
  if (!conv) return std::nullopt;
  Patch p("Mul by constants goes into the weights of the convolution");
  const auto by = per_channel(view, p, n.inputs[1], *conv);
  if (!by) return std::nullopt;
  const ValueId bias = bias_of(*conv) == no_id ? no_id : p.add("Mul", {bias_of(*conv), *by});
  const ValueId weights = scaled_weights(view, p, *conv, *by);
  return replaced(view, std::move(p), id, weights, bias);
}

std::optional<Patch> shift(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* conv = conv_for(view, n.inputs[0]);
  if (!conv) return std::nullopt;
  Patch p("Add of constants goes into the bias of the convolution");
  const auto by = per_channel(view, p, n.inputs[1], *conv);
  if (!by) return std::nullopt;
  const ValueId bias = bias_of(*conv) == no_id ? *by : p.add("Add", {bias_of(*conv), *by});
  return replaced(view, std::move(p), id, conv->inputs[1], bias);
}

std::optional<Patch> pad(const View& view, NodeId id) {
  const Node& conv = view.node(id);
  const Node* pad = view.made_by(conv.inputs[0], "Pad");
  if (!pad || pad->attributes.get<std::string>("mode", "constant") != "constant") return std::nullopt;
  const bool zeros = pad->inputs.size() < 3 || pad->inputs[2] == no_id || view.uniform(pad->inputs[2]) == 0.0;
  const bool all_axes = pad->inputs.size() < 4 || pad->inputs[3] == no_id;
  const auto added = view.integers(pad->inputs[1]);
  const auto rank = view.rank(conv.inputs[0]);
  const auto op = decode<Conv>(conv.attributes);
  if (!zeros || !all_axes || !added || !rank || *rank < 3 || added->size() != 2 * *rank ||
      (op.window.auto_pad != "NOTSET" && op.window.auto_pad != "VALID") ||
      std::ranges::any_of(*added, [](int64_t x) { return x < 0; }))
    return std::nullopt;
  const size_t spatial = *rank - 2;
  std::vector<int64_t> pads = op.window.pads;
  if (pads.empty() || op.window.auto_pad == "VALID") pads.assign(2 * spatial, 0);
  for (size_t side : {size_t{0}, size_t{1}}) {
    if ((*added)[side * *rank] != 0 || (*added)[side * *rank + 1] != 0) return std::nullopt;
    for (size_t i = 0; i < spatial; ++i) pads[side * spatial + i] += (*added)[side * *rank + 2 + i];
  }
  Patch p("Pad goes into the pads of the convolution");
  Attributes attributes = conv.attributes;
  attributes.set("pads", pads);
  attributes.erase("auto_pad");
  std::vector<ValueId> inputs = conv.inputs;
  inputs[0] = pad->inputs[0];
  p.replace_uses(conv.outputs[0], p.add("Conv", std::move(inputs), std::move(attributes)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_fold_into_conv(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "fold-batch-normalization",
                 .says = "puts BatchNormalization into the weights of the convolution before it",
                 .level = level,
                 .anchors = {"BatchNormalization"},
                 .propose = batch_normalization});
  all.push_back({.name = "fold-conv-scale",
                 .says = "puts a Mul by constants into the weights of the convolution before it",
                 .level = level,
                 .anchors = {"Mul"},
                 .propose = scale});
  all.push_back({.name = "fold-conv-shift",
                 .says = "puts an Add of constants into the bias of the convolution before it",
                 .level = level,
                 .anchors = {"Add"},
                 .propose = shift});
  all.push_back({.name = "fold-pad",
                 .says = "puts a Pad with zeros into the pads of the convolution after it",
                 .level = level,
                 .anchors = {"Conv"},
                 .propose = pad});
}

}  // namespace lathe
