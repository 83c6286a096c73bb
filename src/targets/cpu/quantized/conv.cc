// Conv of dequantized bytes, and QLinearConv.
#include <limits>

#include "targets/cpu/quantized/layout.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {

bool quantize_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& conv) {
  const auto x = l.view.number(conv.inputs[0]);
  const auto w = l.view.weights(conv.inputs[1]);
  if (!x || !l.is_image(x->bytes) || !w || w->tensor().rank() != l.rank(x->bytes) || !explicit_pads(conv))
    return false;
  if (w->scales() != 1 && w->axis != 0) return false;
  const ValueId bias = conv.inputs.size() > 2 ? conv.inputs[2] : no_id;
  if (bias != no_id && !l.graph.constant_tensor(bias)) return false;
  return add_quantized_conv(
      l, t, conv,
      {x->bytes, x->scale, l.view.zero_or_made(x->zero, x->bytes), l.view.add(w->bytes), l.view.add(w->scale),
       l.view.zero_or_made(*w), t.quant.scale, l.view.zero_or_made(t.quant.zero, t.quant.bytes), bias});
}

bool quantize_linear_conv(QuantizedLayout& l, const QuantizedTarget& of, const Node& n) {
  if (!l.is_image(n.inputs[0]) || !l.is_image(n.outputs[0]) || !explicit_pads(n)) return false;
  // QLinearConv refuses scales that are not numbers, and 0 where it divides; a negative scale exchanges the
  // bounds.
  if (!l.view.is_scale(n.inputs[1]) || !l.view.are_weight_scales(n.inputs[4]) ||
      !l.view.is_scale(n.inputs[6]))
    return false;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const QuantizedTarget t{
      of.last, {n.outputs[0], n.inputs[6], n.inputs[7]}, {n.outputs[0], -infinity, infinity}, of.source};
  std::vector<ValueId> inputs = n.inputs;
  inputs.resize(9, no_id);
  return add_quantized_conv(l, t, n, std::move(inputs));
}

bool add_quantized_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& conv,
                        std::vector<ValueId> inputs) {
  Node n = l.described(t, conv, "BlockedInt8Conv");
  n.attributes = conv.attributes;
  n.attributes.erase("kernel_shape");
  make_explicit(n, l.rank(inputs[0]) - 2);
  n.attributes.set("channels", l.channels(inputs[0]));
  set_clamp(n, "", t.of);
  const ValueId x = inputs[0];
  inputs[0] = l.form.contains(x) ? l.form.at(x) : l.add_blocked_value(x);
  n.inputs = std::move(inputs);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  if (!l.has_kernel(n)) return false;
  if (!l.form.contains(x)) l.add_block(x, n.inputs[0]);
  l.finish(t, std::move(n));
  return true;
}

}  // namespace lathe
