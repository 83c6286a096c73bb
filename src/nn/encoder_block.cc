#include "nn/encoder_block.h"

namespace lathe::nn {

EncoderBlock::EncoderBlock(const EncoderBlockOptions& o, const EncoderBlockNames& names)
    : query(o.size, o.size, {.bias = o.qkv_bias}),
      key(o.size, o.size, {.bias = o.qkv_bias}),
      value(o.size, o.size, {.bias = o.qkv_bias}),
      output(o.size, o.size),
      fc1(o.size, o.inner),
      fc2(o.inner, o.size),
      attention_norm(o.size, {.epsilon = o.epsilon}),
      output_norm(o.size, {.epsilon = o.epsilon}),
      names_(names),
      heads_(o.heads),
      activation_(Activation(o.activation).name()),
      norm_first_(o.norm_first) {}

void EncoderBlock::fields(Fields& f) {
  f(names_.query, query), f(names_.key, key), f(names_.value, value), f(names_.output, output);
  f(names_.attention_norm, attention_norm);
  f(names_.fc1, fc1), f(names_.fc2, fc2), f(names_.output_norm, output_norm);
}

TensorRef EncoderBlock::bias(const Ops&, const TensorRef&, const TensorRef&) const { return {}; }

TensorRef EncoderBlock::between(const TensorRef& x, const Memory&) const { return x; }

TensorRef EncoderBlock::attended(const Ops& o, const TensorRef& x, const TensorRef& mask) const {
  const TensorRef q = split_heads(o, query(x), heads_), k = split_heads(o, key(x), heads_),
                  v = split_heads(o, value(x), heads_);
  TensorRef added = bias(o, q, k);
  if (mask) added = added ? o.add(added, mask) : mask;
  return output(merge_heads(o, attend(o, q, k, v, {.mask = added})));
}

TensorRef EncoderBlock::mlp(const Ops& o, const TensorRef& x) const {
  return fc2(activate(o, activation_, fc1(x)));
}

TensorRef EncoderBlock::operator()(const TensorRef& x, const TensorRef& mask, const Memory& memory) const {
  const Ops o(*this, x);
  if (norm_first_) {
    const TensorRef y = between(o.add(attended(o, attention_norm(x), mask), x), memory);
    return o.add(mlp(o, output_norm(y)), y);
  }
  const TensorRef y = between(attention_norm(o.add(attended(o, x, mask), x)), memory);
  return output_norm(o.add(mlp(o, y), y));
}

}  // namespace lathe::nn
