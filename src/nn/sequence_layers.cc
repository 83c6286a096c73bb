#include "nn/sequence_layers.h"

#include <cmath>

#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {

CachedAttention::CachedAttention(int64_t size, int64_t heads, const CachedAttentionOptions& o)
    : heads_(heads), options_(o) {
  const int64_t inner = o.head_size ? heads * o.head_size : size;
  const int64_t memory = o.memory_size ? o.memory_size : size;
  query = Linear(size, inner, {.bias = o.bias});
  key = Linear(memory, inner, {.bias = o.bias && o.key_bias});
  value = Linear(memory, inner, {.bias = o.bias});
  output = Linear(inner, size, {.bias = o.bias});
}

void CachedAttention::fields(Fields& f) {
  f(options_.names.query, query), f(options_.names.key, key), f(options_.names.value, value);
  f(options_.names.output, output);
}

TensorRef CachedAttention::operator()(const TensorRef& x, const TensorRef& mask, KeyValues& cache) const {
  const Ops o(*this, x);
  KeyValues now{split_heads(o, key(x), heads_), split_heads(o, value(x), heads_)};
  if (cache) now = {o.concat({cache.key, now.key}, 2), o.concat({cache.value, now.value}, 2)};
  cache = now;
  return attended(o, x, mask, cache);
}

TensorRef CachedAttention::across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask,
                                  KeyValues& cache) const {
  const Ops o(*this, x);
  if (!cache) cache = {split_heads(o, key(memory), heads_), split_heads(o, value(memory), heads_)};
  return attended(o, x, mask, cache);
}

TensorRef CachedAttention::attended(const Ops& o, const TensorRef& x, const TensorRef& mask,
                                    const KeyValues& cache) const {
  const TensorRef q = split_heads(o, query(x), heads_);
  return output(
      merge_heads(o, attend(o, q, cache.key, cache.value, {.mask = mask, .scale = options_.scale})));
}

SequenceOptions SequenceOptions::from(const ModelConfig& c, const std::string& side) {
  refuse_other_names("config.json", c,
                     {{"hidden_size", "d_model"}, {"num_attention_heads", "encoder_attention_heads"}});
  SequenceOptions o;
  o.size = c.get<int64_t>("d_model");
  o.heads = c.get<int64_t>(side + "_attention_heads");
  o.layers = c.get<int64_t>(side + "_layers");
  o.inner = c.get<int64_t>(side + "_ffn_dim");
  o.activation = activation_in(c, "activation_function", o.activation.c_str());
  o.vocabulary = c.get<int64_t>("vocab_size");
  o.scale_embedding = c.get<bool>("scale_embedding", false);
  return o;
}

SequenceOptions SequenceOptions::bart(const ModelConfig& c, const std::string& side, bool norm_first) {
  SequenceOptions o = from(c, side);
  o.norm_first = norm_first;
  o.positions = c.get<int64_t>("max_position_embeddings", 1024);
  o.position_offset = 2;  // rows for padding, which its positions never use
  return o;
}

SequenceLayer::SequenceLayer(const SequenceOptions& o, bool cross)
    : self_attn(o.size, o.heads, {.key_bias = o.key_bias}),
      self_attn_layer_norm(o.size),
      final_layer_norm(o.size),
      fc1(o.size, o.inner),
      fc2(o.inner, o.size),
      activation_(o.activation),
      norm_first_(o.norm_first) {
  if (!cross) return;
  encoder_attn.emplace(o.size, o.heads,
                       CachedAttentionOptions{.memory_size = o.memory_size, .key_bias = o.key_bias});
  encoder_attn_layer_norm.emplace(o.size);
}

void SequenceLayer::fields(Fields& f) {
  f("self_attn", self_attn), f("self_attn_layer_norm", self_attn_layer_norm);
  f("encoder_attn", encoder_attn), f("encoder_attn_layer_norm", encoder_attn_layer_norm);
  f("fc1", fc1), f("fc2", fc2), f("final_layer_norm", final_layer_norm);
}

TensorRef SequenceLayer::mlp(const Ops& o, const TensorRef& x) const {
  return fc2(activate(o, activation_, fc1(x)));
}

TensorRef SequenceLayer::operator()(const TensorRef& x, const TensorRef& mask) const {
  KeyValues cache, none;
  return (*this)(x, mask, cache, {}, {}, none);
}

TensorRef SequenceLayer::operator()(TensorRef x, const TensorRef& mask, KeyValues& cache,
                                    const TensorRef& memory, const TensorRef& memory_mask,
                                    KeyValues& cross_cache) const {
  const Ops o(*this, x);
  auto part = [&](const LayerNorm& norm, const auto& f) {
    x = norm_first_ ? o.add(x, f(norm(x))) : norm(o.add(x, f(x)));
  };
  part(self_attn_layer_norm, [&](const TensorRef& t) { return self_attn(t, mask, cache); });
  if (encoder_attn && (memory || cross_cache))
    part(*encoder_attn_layer_norm,
         [&](const TensorRef& t) { return encoder_attn->across(t, memory, memory_mask, cross_cache); });
  part(final_layer_norm, [&](const TensorRef& t) { return mlp(o, t); });
  return x;
}

namespace {

/// Sines of the position, then cosines, with frequencies from 1 to 1/10000 (Vaswani et al. 2017, in the order
/// of tensor2tensor). They are computed in the network, because a text may be of any length.
TensorRef waves(const Ops& o, const TensorRef& positions, int64_t size) {
  const int64_t half = size / 2;
  Tensor frequencies(DataType::float32, {half});
  // In single precision, as the published implementation has them.
  const auto step = static_cast<float>(-std::log(10000.0) / static_cast<double>(half - 1));
  for (int64_t i = 0; i < half; ++i)
    frequencies.as<float>()[static_cast<size_t>(i)] = std::exp(static_cast<float>(i) * step);
  const TensorRef angles =
      o.mul(o.unsqueeze(o.cast(positions, DataType::float32), {-1}), o.constant(frequencies));
  return o.concat({o.op("Sin", {angles}), o.op("Cos", {angles})}, -1);
}

}  // namespace

TokenEmbedding::TokenEmbedding(const SequenceOptions& o)
    : embed_tokens(o.vocabulary, o.size),
      scale_(o.scale_embedding ? std::sqrt(static_cast<double>(o.size)) : 1),
      size_(o.size),
      offset_(o.position_offset),
      padding_(o.sinusoidal_but) {
  if (!padding_) embed_positions.emplace(o.positions + o.position_offset, o.size);
  if (o.norm_embedding) layernorm_embedding.emplace(o.size);
}

void TokenEmbedding::fields(Fields& f) {
  f("embed_tokens", embed_tokens), f("embed_positions", embed_positions);
  f("layernorm_embedding", layernorm_embedding);
}

TensorRef TokenEmbedding::positions(const Ops& o, const TensorRef& ids, const KeyValues& past) const {
  if (!padding_) {
    const TensorRef learnt = positions_behind(o, ids, past);
    return (*embed_positions)(offset_ == 0 ? learnt : o.add(learnt, static_cast<double>(offset_)));
  }
  const TensorRef padded = o.equal(ids, static_cast<double>(*padding_));
  TensorRef counted = o.op("CumSum", {o.cast(o.op("Not", {padded}), DataType::int64), o.integer(1)});
  if (past) counted = o.add(counted, o.size(past.key, 2));
  const TensorRef at = waves(o, o.add(counted, static_cast<double>(*padding_)), size_);
  return o.where(o.unsqueeze(padded, {-1}), 0, o.cast(at, embed_tokens.weight.type()));
}

TensorRef TokenEmbedding::operator()(const Ops& o, const TensorRef& ids, const KeyValues& past) const {
  TensorRef x = embed_tokens(ids);
  if (scale_ != 1) x = o.mul(x, scale_);
  x = o.add(x, positions(o, ids, past));
  return layernorm_embedding ? (*layernorm_embedding)(x) : x;
}

SequenceEncoder::SequenceEncoder(const SequenceOptions& o)
    : embedding(o), layers(o.layers, [&](int64_t) { return SequenceLayer(o, false); }) {
  if (o.norm_first) layer_norm.emplace(o.size);
}

void SequenceEncoder::fields(Fields& f) {
  embedding.fields(f);
  f("layers", layers), f("layer_norm", layer_norm);
}

TensorRef SequenceEncoder::operator()(const Inputs& inputs) const {
  const TensorRef& ids = inputs.at("input_ids");
  const Ops o(*this, ids);
  TensorRef x = embedding(o, ids, {});
  const TensorRef length = o.size(ids, 1);
  const TensorRef mask = attention_mask(o, inputs.find("attention_mask"), length, length, x.element_type());
  for (const SequenceLayer& layer : layers) x = layer(x, mask);
  return layer_norm ? (*layer_norm)(x) : x;
}

SequenceDecoder::SequenceDecoder(const SequenceOptions& o)
    : tokens(o), layers(o.layers, [&](int64_t) { return SequenceLayer(o, o.cross); }), size_(o.size) {
  if (o.norm_first) layer_norm.emplace(o.size);
}

void SequenceDecoder::fields(Fields& f) {
  tokens.fields(f);
  f("layers", layers), f("layer_norm", layer_norm);
}

TensorRef SequenceDecoder::operator()(const Inputs& inputs, Outputs& present) const {
  const TensorRef& ids = inputs.at("input_ids");
  const Ops o(*this, ids);
  const TensorRef memory = inputs.find("encoder_hidden_states");
  const bool crossed = memory || past_of(inputs, 0, "encoder");
  const std::string part = crossed ? "decoder" : "";
  const KeyValues first = past_of(inputs, 0, part);
  TensorRef x = tokens(o, ids, first);
  TensorRef keys = o.size(ids, 1);
  if (first) keys = o.add(keys, o.size(first.key, 2));
  const TensorRef mask = attention_mask(o, crossed ? TensorRef() : inputs.find("attention_mask"),
                                        o.size(ids, 1), keys, x.element_type(), {.causal = true});
  TensorRef memory_mask;
  if (const TensorRef padding = inputs.find("encoder_attention_mask"))
    memory_mask = attention_mask(o, padding, o.size(ids, 1), o.size(padding, 1), x.element_type());
  for (size_t i = 0; i < layers.size(); ++i) {
    KeyValues cache = past_of(inputs, i, part), cross_cache = past_of(inputs, i, "encoder");
    x = layers[i](x, mask, cache, memory, memory_mask, cross_cache);
    set_present(present, i, cache, part);
    if (crossed) set_present(present, i, cross_cache, "encoder");
  }
  return layer_norm ? (*layer_norm)(x) : x;
}

}  // namespace lathe::nn
