// Over three spatial axes there are no blocks: Conv becomes QLinearConv, of bytes in NCHW.
#include <cmath>

#include "targets/cpu/quantized/layout.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Returns whether the activation clamps nothing that bytes can represent.
bool clamps_like_quant_params(const QuantizedLayout& l, const QuantizedTarget& t) {
  const int64_t lowest = l.graph.value(t.quant.bytes).type.elem == DataType::int8 ? -128 : 0;
  const int64_t zero = t.quant.zero == no_id ? 0 : load_int(*l.graph.constant_tensor(t.quant.zero), 0);
  const float scale = *l.view.single_float(t.quant.scale);
  return t.of.low <= static_cast<float>(lowest - zero) * scale &&
         t.of.high >= static_cast<float>(lowest + 255 - zero) * scale;
}

/// Returns the bias as int32 in units of x_scale * w_scale if it was so; else no_id.
ValueId whole_bias(QuantizedLayout& l, ValueId v, float x_scale, const QuantizedWeights& w) {
  const Tensor* bias = l.graph.constant_tensor(v);
  if (!bias || bias->type() != DataType::float32) return no_id;
  const auto scales = w.scale.constant->tensor().as<float>();
  Tensor whole(DataType::int32, bias->shape());
  for (size_t i = 0; i < bias->as<float>().size(); ++i) {
    const double unit = static_cast<double>(x_scale) * scales[scales.size() == 1 ? 0 : i];
    const double n = bias->as<float>()[i] / unit, nearest = std::nearbyint(n);
    if (!(std::abs(n) < INT32_MAX) || std::abs(n - nearest) > 1e-3 + 1e-6 * std::abs(n)) return no_id;
    whole.as<int32_t>()[i] = static_cast<int32_t>(nearest);
  }
  return l.add_constant("bias", std::move(whole));
}

}  // namespace

bool quantize_volume(QuantizedLayout& l, const QuantizedTarget& t, const Node& conv) {
  const auto x = l.view.number(conv.inputs[0]);
  const auto w = l.view.weights(conv.inputs[1]);
  if (!x || !w || w->tensor().rank() != 5 || (w->scales() != 1 && w->axis != 0) ||
      !clamps_like_quant_params(l, t))
    return false;
  Node n = l.described(t, conv, "QLinearConv");
  n.domain.clear();
  n.attributes = conv.attributes;
  n.inputs = {x->bytes,
              x->scale,
              l.view.zero_or_made(x->zero, x->bytes),
              l.view.add(w->bytes),
              l.view.add(w->scale),
              l.view.zero_or_made(*w),
              t.quant.scale,
              l.view.zero_or_made(t.quant.zero, t.quant.bytes)};
  if (conv.inputs.size() > 2 && conv.inputs[2] != no_id) {
    const ValueId bias = whole_bias(l, conv.inputs[2], *l.view.single_float(x->scale), *w);
    if (bias == no_id) return false;
    n.inputs.push_back(bias);
  }
  n.outputs = {t.quant.bytes};
  return l.finish_in_nchw(t, std::move(n));
}

}  // namespace lathe
