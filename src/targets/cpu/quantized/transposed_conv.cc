// ConvTranspose whose windows lie side by side: a convolution of one pixel, with a filter for each pixel of a
// window and channel of Y, whose blocks of channels then become pixels.
#include <cstring>

#include "cpu/nchw16c.h"
#include "passes/side_by_side.h"
#include "targets/cpu/quantized/layout.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

Tensor repeated(const Tensor& t, int64_t times) {
  Tensor all(t.type(), {t.size() * times});
  for (int64_t i = 0; i < times; ++i)
    std::memcpy(static_cast<char*>(all.data()) + static_cast<size_t>(i) * t.bytes(), t.data(), t.bytes());
  return all;
}

/// [C, M, h, w] as [h * w * M, C, 1, 1].
Tensor by_pixel(const Tensor& w) {
  const int64_t inputs = w.dim(0), filters = w.dim(1), pixels = w.dim(2) * w.dim(3);
  Tensor transposed(w.type(), {pixels * filters, inputs, 1, 1});
  const auto* const from = static_cast<const uint8_t*>(w.data());
  auto* to = static_cast<uint8_t*>(transposed.data());
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t m = 0; m < filters; ++m)
      for (int64_t c = 0; c < inputs; ++c) *to++ = from[(c * filters + m) * pixels + p];
  return transposed;
}

}  // namespace

bool quantize_transposed_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& conv) {
  const auto x = l.view.number(conv.inputs[0]);
  const auto w = l.view.weights(conv.inputs[1]);
  if (!x || !l.is_image(x->bytes) || !w || (w->scales() != 1 && w->axis != 1)) return false;
  const auto size = side_by_side(conv, w->tensor().shape());
  const int64_t pixels = size ? *size * *size : 0;
  const bool biased = conv.inputs.size() > 2 && conv.inputs[2] != no_id;
  const Tensor* bias = biased ? l.graph.constant_tensor(conv.inputs[2]) : nullptr;
  if (!size || w->tensor().dim(1) % cpu::channel_block != 0 || (biased && !bias)) return false;
  const auto for_each_pixel = [&](const Tensor& of_filters) {
    return l.add_constant("pixels",
                          of_filters.size() == 1 ? of_filters.clone() : repeated(of_filters, pixels));
  };
  Node n = l.described(t, conv, "BlockedInt8Conv");
  make_explicit(n, 2);
  n.attributes.set("channels", l.channels(x->bytes));
  set_clamp(n, "", t.of);
  const ValueId weights = l.add_constant("by_pixel", by_pixel(w->tensor()));
  const bool made = !l.form.contains(x->bytes);
  n.inputs = {
      made ? l.add_blocked_value(x->bytes) : l.form.at(x->bytes),
      x->scale,
      l.view.zero_or_made(x->zero, x->bytes),
      weights,
      for_each_pixel(w->scale.constant->tensor()),
      w->zero.constant ? for_each_pixel(w->zero.constant->tensor()) : l.view.zero_or_made(no_id, weights),
      t.quant.scale,
      l.view.zero_or_made(t.quant.zero, t.quant.bytes),
      bias ? for_each_pixel(*bias) : no_id};
  n.outputs = {l.add_blocked_value(x->bytes, w->tensor().dim(1) * pixels)};
  Node depth_to_space = l.described(t, conv, "BlockedDepthToSpace");
  depth_to_space.attributes.set("blocksize", *size);
  depth_to_space.inputs = n.outputs;
  depth_to_space.outputs = {l.add_blocked_value(t.quant.bytes)};
  if (!l.has_kernel(n) || !l.has_kernel(depth_to_space)) return false;
  if (made) l.add_block(x->bytes, n.inputs[0]);
  l.graph.add_node(std::move(n));
  l.finish(t, std::move(depth_to_space));
  return true;
}

}  // namespace lathe
