// Means of images of bytes, over all pixels or windows.
#include <algorithm>

#include "targets/cpu/quantized/layout.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

/// Means over windows with a longer side do not become convolutions.
constexpr int64_t max_mean_window = 64;

/// Returns whether all windows count the same number of pixels.
bool count_alike(const Node& pool) {
  const auto pads = pool.attributes.get<std::vector<int64_t>>("pads", {});
  const bool padded = std::ranges::any_of(pads, [](int64_t p) { return p != 0; });
  return pool.attributes.get<int64_t>("ceil_mode", 0) == 0 &&
         (!padded || pool.attributes.get<int64_t>("count_include_pad", 0) != 0);
}

/// A mean over windows that count alike is a convolution of each channel with weights of 1.
bool sum_by_conv(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool, const QuantizedValue& x,
                 const std::vector<int64_t>& kernel) {
  Shape shape{l.channels(x.bytes), 1};
  int64_t taps = 1;
  for (int64_t k : kernel) {
    if (k < 1 || k > max_mean_window) return false;
    taps *= k;
    shape.push_back(k);
  }
  Tensor ones(DataType::int8, shape);
  std::ranges::fill(ones.as<int8_t>(), int8_t{1});
  Node conv = pool;
  for (const char* name : {"ceil_mode", "count_include_pad"}) conv.attributes.erase(name);
  conv.attributes.set("group", l.channels(x.bytes));
  const ValueId w = l.add_constant("ones", std::move(ones));
  const ValueId scale =
      l.add_constant("scale", Tensor::from<float>({}, std::vector{1 / static_cast<float>(taps)}));
  return add_quantized_conv(
      l, t, conv,
      {x.bytes, x.scale, l.view.zero_or_made(x.zero, x.bytes), w, scale, l.view.zero_or_made(no_id, w),
       t.quant.scale, l.view.zero_or_made(t.quant.zero, t.quant.bytes), no_id});
}

/// Adds the operator on blocks, whose result has other quantization parameters.
bool finish_mean(QuantizedLayout& l, const QuantizedTarget& t, Node n, const QuantizedValue& x) {
  n.inputs = l.operand(x);
  for (ValueId v : l.result(t)) n.inputs.push_back(v);
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  return l.finish_if_it_runs(t, std::move(n));
}

}  // namespace

bool quantize_global_mean(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool) {
  const auto x = l.view.number(pool.inputs[0]);
  if (!x || !l.is_blocked(*x) || !l.is_unclamped(t)) return false;
  return finish_mean(l, t, l.described(t, pool, "BlockedInt8GlobalAveragePool"), *x);
}

bool quantize_mean(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool) {
  const auto x = l.view.number(pool.inputs[0]);
  const auto kernel = pool.attributes.get<std::vector<int64_t>>("kernel_shape", {});
  if (!x || !l.is_blocked(*x) || !explicit_pads(pool) || kernel.size() + 2 != l.rank(x->bytes)) return false;
  if (count_alike(pool) && sum_by_conv(l, t, pool, *x, kernel)) return true;
  if (!l.is_unclamped(t)) return false;
  Node n = l.described(t, pool, "BlockedInt8AveragePool");
  n.attributes = pool.attributes;
  make_explicit(n, l.rank(x->bytes) - 2);
  return finish_mean(l, t, std::move(n), *x);
}

}  // namespace lathe
