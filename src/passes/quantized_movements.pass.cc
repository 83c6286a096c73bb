// Quantized tensors: operators that only move elements move the integers, and integers that are turned into
// floats and back stay as they are. Only with one scale for the tensor: several are tied to an axis.
#include <cmath>
#include <limits>

#include "passes/patterns.h"
#include "tensor/element.h"

namespace lathe {
namespace {

bool narrow_integer(DataType t) {
  return t == DataType::int8 || t == DataType::uint8 || t == DataType::int16 || t == DataType::uint16;
}

bool one_scale(const View& view, const Node& n) {
  const Tensor* scale = view.constant(n.inputs[1]);
  return scale && scale->size() == 1 && scale->rank() <= 1;
}

ValueId zero_point(const Node& n) { return n.inputs.size() > 2 ? n.inputs[2] : no_id; }

bool zero(const View& view, ValueId v) { return v == no_id || view.uniform(v) == 0.0; }

/// Compares scale and zero point. Equal constants are one, as share-constants leaves them.
bool same_quant_params(const View& view, const Node& a, const Node& b) {
  if (a.inputs[1] != b.inputs[1]) return false;
  const ValueId x = zero_point(a), y = zero_point(b);
  return x == y || (zero(view, x) && zero(view, y));
}

/// Integers that are quantized again stay the same: (q - z) * s / s is an integer after rounding, unless the
/// product leaves the range of floats.
std::optional<Patch> there_and_back(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* back = view.made_by(n.inputs[0], "DequantizeLinear");
  if (!back || !one_scale(view, n) || !same_quant_params(view, n, *back) ||
      !view.same_type(back->inputs[0], n.outputs[0]) || !narrow_integer(view.type(n.outputs[0]).elem) ||
      view.type(n.inputs[0]).elem != DataType::float32 || n.attributes.get<int64_t>("precision", 0) > 1)
    return std::nullopt;
  const auto scale = view.uniform(n.inputs[1]);
  if (!scale || std::abs(*scale) < 1e-30 || std::abs(*scale) > 1e30) return std::nullopt;
  return forward(view, id, back->inputs[0], "integers that become themselves again");
}

/// Returns whether the node is a Resize to the nearest pixel that never reads outside the image.
bool repeats_pixels(const Node& n) {
  return View::is(n, "Resize") && n.attributes.get<std::string>("mode", "nearest") == "nearest" &&
         n.attributes.get<std::string>("coordinate_transformation_mode", "half_pixel") !=
             "tf_crop_and_resize";
}

/// Returns whether the node only moves elements of its first input.
bool moves(const Node& n) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather",
                         "Expand", "Tile", "DepthToSpace", "SpaceToDepth"})
    if (View::is(n, op)) return n.outputs.size() == 1;
  return repeats_pixels(n);
}

/// Adds the node with another first input.
ValueId moved(Patch& p, const Node& n, ValueId x) {
  Operands inputs = n.inputs;
  inputs.set(0, x);
  return p.add(n.op, std::move(inputs), n.attributes);
}

/// Moves a DequantizeLinear behind the movement; the anchor is the movement.
std::optional<Patch> sink_dequantize(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* dequantize = view.made_by(n.inputs[0], "DequantizeLinear");
  if (!dequantize || !moves(n) || !view.read_once(n.inputs[0]) || !one_scale(view, *dequantize) ||
      !narrow_integer(view.type(dequantize->inputs[0]).elem) || view.is_constant(dequantize->inputs[0]))
    return std::nullopt;
  Patch p(n.op + " of integers");
  Operands inputs = dequantize->inputs;
  inputs.set(0, moved(p, n, inputs[0]));
  p.replace_uses(n.outputs[0], p.add("DequantizeLinear", std::move(inputs), dequantize->attributes));
  p.remove(id);
  return p;
}

/// Moves a QuantizeLinear before the movement; the anchor is the QuantizeLinear. Expand, Tile and Resize
/// enlarge tensors, so DequantizeLinear stays in front of them.
std::optional<Patch> lift_quantize(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const NodeId at = view.producer(n.inputs[0]);
  if (at == no_id || !moves(view.node(at)) || !view.read_once(n.inputs[0]) || !one_scale(view, n) ||
      !narrow_integer(view.type(n.outputs[0]).elem))
    return std::nullopt;
  const Node& movement = view.node(at);
  // After a movement that takes a part there is less to quantize.
  if (View::is(movement, "Slice") || View::is(movement, "Gather")) return std::nullopt;
  Patch p(movement.op + " of integers");
  Operands inputs = n.inputs;
  inputs.set(0, movement.inputs[0]);
  p.replace_uses(n.outputs[0], moved(p, movement, p.add("QuantizeLinear", std::move(inputs), n.attributes)));
  p.remove(id);
  return p;
}

/// Concatenates tensors with the same quantization parameters.
std::optional<Patch> concat(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* first = nullptr;
  std::vector<ValueId> integers;
  for (ValueId v : n.inputs) {
    const Node* d = view.made_by(v, "DequantizeLinear");
    if (!d || !view.read_once(v) || !one_scale(view, *d) || (first && !same_quant_params(view, *d, *first)) ||
        !narrow_integer(view.type(d->inputs[0]).elem) ||
        (first && view.type(d->inputs[0]).elem != view.type(first->inputs[0]).elem))
      return std::nullopt;
    if (!first) first = d;
    integers.push_back(d->inputs[0]);
  }
  if (!first || n.inputs.size() < 2) return std::nullopt;
  Patch p("Concat of integers");
  Operands inputs = first->inputs;
  inputs.set(0, p.add("Concat", std::move(integers), n.attributes));
  p.replace_uses(n.outputs[0], p.add("DequantizeLinear", std::move(inputs), first->attributes));
  p.remove(id);
  return p;
}

/// The range that Relu or Clip passes.
struct Bounds {
  double least, most;
};
std::optional<Bounds> bounds(const View& view, ValueId v) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (view.made_by(v, "Relu")) return Bounds{0, infinity};
  const Node* clip = view.made_by(v, "Clip");
  if (!clip) return std::nullopt;
  const auto bound = [&](size_t i, double open) -> std::optional<double> {
    if (clip->inputs.size() <= i || clip->inputs[i] == no_id) return open;
    return view.uniform(clip->inputs[i]);
  };
  const auto least = bound(1, -infinity), most = bound(2, infinity);
  return least && most && *least <= *most ? std::optional(Bounds{*least, *most}) : std::nullopt;
}

/// A Relu or Clip whose bounds are beyond the ends of the quantized range does nothing that saturation does
/// not.
std::optional<Patch> clip(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto limits = bounds(view, n.inputs[0]);
  const DataType t = view.type(n.outputs[0]).elem;
  const auto scale = view.uniform(n.inputs[1]);
  const ValueId z = zero_point(n);
  const auto zero = z == no_id ? std::optional(0.0) : view.uniform(z);
  if (!limits || !view.read_once(n.inputs[0]) || !narrow_integer(t) || !scale || !(*scale > 0) || !zero ||
      view.type(n.inputs[0]).elem != DataType::float32 || n.attributes.get<int64_t>("precision", 0) > 1)
    return std::nullopt;
  const bool has_sign = t == DataType::int8 || t == DataType::int16;
  const double count = t == DataType::int8 || t == DataType::uint8 ? 256 : 65536,
               least = has_sign ? -count / 2 : 0;
  const auto quantized = [&](double x) {
    return std::nearbyint(static_cast<float>(x) / static_cast<float>(*scale)) + *zero;
  };
  if (quantized(limits->least) > least || quantized(limits->most) < least + count - 1) return std::nullopt;
  Patch p("saturation does what Relu or Clip does");
  Operands inputs = n.inputs;
  inputs.set(0, view.node(view.producer(n.inputs[0])).inputs[0]);
  p.replace_uses(n.outputs[0], p.add("QuantizeLinear", std::move(inputs), n.attributes));
  p.remove(id);
  return p;
}

}  // namespace

void pass_quantized_movements(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "eliminate-requantization",
                 .description = "removes QuantizeLinear of DequantizeLinear with equal parameters",
                 .level = level,
                 .anchors = {"QuantizeLinear"},
                 .propose = there_and_back});
  all.push_back({.name = "sink-dequantize",
                 .description = "moves integers, and dequantizes them afterwards",
                 .level = level,
                 .anchors = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather",
                             "DepthToSpace", "SpaceToDepth"},
                 .propose = sink_dequantize});
  all.push_back({.name = "lift-quantize",
                 .description = "quantizes before what moves elements",
                 .level = level,
                 .anchors = {"QuantizeLinear"},
                 .propose = lift_quantize});
  all.push_back({.name = "concat-quantized",
                 .description = "concatenates integers of one scale",
                 .level = level,
                 .anchors = {"Concat"},
                 .propose = concat});
  all.push_back({.name = "clip-quantize",
                 .description = "leaves out Relu and Clip where quantization saturates there",
                 .level = level,
                 .anchors = {"QuantizeLinear"},
                 .propose = clip});
}

}  // namespace lathe
