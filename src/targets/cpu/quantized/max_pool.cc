// MaxPool of images of bytes: with the same quantization parameters, the largest byte is that of the largest
// number.
#include "targets/cpu/quantized/layout.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

bool pool_bytes(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool, ValueId bytes) {
  const bool indices = pool.outputs.size() > 1 && pool.outputs[1] != no_id;
  if (!l.form.contains(bytes) || indices || !explicit_pads(pool)) return false;
  Node n = l.described(t, pool, "BlockedMaxPool");
  n.attributes = pool.attributes;
  make_explicit(n, l.rank(bytes) - 2);
  n.inputs = {l.form.at(bytes)};
  n.outputs = {l.add_blocked_value(t.quant.bytes)};
  return l.finish_if_it_runs(t, std::move(n));
}

}  // namespace

bool quantize_max_pool(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool) {
  const auto x = l.view.number(pool.inputs[0]);
  return x && l.same_quant_params(*x, t.quant) && l.is_unclamped(t) && pool_bytes(l, t, pool, x->bytes);
}

bool block_max_pool(QuantizedLayout& l, const QuantizedTarget& t, const Node& pool) {
  return pool_bytes(l, t, pool, pool.inputs[0]);
}

}  // namespace lathe
