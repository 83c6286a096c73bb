// GPT-2 with its heads.
#include "nn/models/gpt2.h"

#include <cmath>

#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
Gpt2Options::Gpt2Options(const ModelConfig& c)
    : size(c.get<int64_t>("n_embd", 768)),
      heads(c.get<int64_t>("n_head", 12)),
      layers(c.get<int64_t>("n_layer", 12)),
      inner(c.get<int64_t>("n_inner", 4 * size)),
      vocabulary(c.get<int64_t>("vocab_size", 50257)),
      positions(c.get<int64_t>("n_positions", 1024)),
      epsilon(c.get<double>("layer_norm_epsilon", 1e-5)),
      activation(activation_in(c, "activation_function", "gelu_new")),
      scaled(c.get<bool>("scale_attn_weights", true)),
      scaled_by_layer(c.get<bool>("scale_attn_by_inverse_layer_idx", false)),
      cross(c.get<bool>("add_cross_attention", false)) {
  refuse_other_names("gpt2", c,
                     {{"hidden_size", "n_embd"},
                      {"num_attention_heads", "n_head"},
                      {"num_hidden_layers", "n_layer"},
                      {"max_position_embeddings", "n_positions"}});
}

Gpt2Attention::Gpt2Attention(const Gpt2Options& o, int64_t layer, bool cross)
    : c_attn(o.size, (cross ? 2 : 3) * o.size, {.transposed = true}),
      c_proj(o.size, o.size, {.transposed = true}),
      size_(o.size),
      heads_(o.heads),
      scale_((o.scaled ? 1 / std::sqrt(static_cast<double>(o.size / o.heads)) : 1.0) /
             (o.scaled_by_layer ? static_cast<double>(layer + 1) : 1.0)) {
  if (cross) q_attn.emplace(o.size, o.size, LinearOptions{.transposed = true});
}

TensorRef Gpt2Attention::operator()(const TensorRef& x, const TensorRef& mask, KeyValues& cache) const {
  const Ops o(*this, x);
  const std::vector<TensorRef> parts = o.split(c_attn(x), {size_, size_, size_}, -1);
  const TensorRef query = split_heads(o, parts[0], heads_);
  KeyValues now{split_heads(o, parts[1], heads_), split_heads(o, parts[2], heads_)};
  if (cache) now = {o.concat({cache.key, now.key}, 2), o.concat({cache.value, now.value}, 2)};
  cache = now;
  return attended(o, query, cache, mask);
}

TensorRef Gpt2Attention::across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask) const {
  const Ops o(*this, x);
  const std::vector<TensorRef> parts = o.split(c_attn(memory), {size_, size_}, -1);
  const KeyValues cache{split_heads(o, parts[0], heads_), split_heads(o, parts[1], heads_)};
  return attended(o, split_heads(o, (*q_attn)(x), heads_), cache, mask);
}

TensorRef Gpt2Attention::attended(const Ops& o, const TensorRef& query, const KeyValues& cache,
                                  const TensorRef& mask) const {
  return c_proj(merge_heads(o, attend(o, query, cache.key, cache.value, {.mask = mask, .scale = scale_})));
}

Gpt2Mlp::Gpt2Mlp(const Gpt2Options& o)
    : c_fc(o.size, o.inner, {.transposed = true}),
      c_proj(o.inner, o.size, {.transposed = true}),
      activation_(o.activation) {}

TensorRef Gpt2Mlp::operator()(const TensorRef& x) const {
  return c_proj(activate(Ops(*this, x), activation_, c_fc(x)));
}

Gpt2Layer::Gpt2Layer(const Gpt2Options& o, int64_t layer)
    : ln_1(o.size, {.epsilon = o.epsilon}),
      ln_2(o.size, {.epsilon = o.epsilon}),
      attn(o, layer, false),
      mlp(o) {
  if (!o.cross) return;
  ln_cross_attn.emplace(o.size, LayerNormOptions{.epsilon = o.epsilon});
  crossattention.emplace(o, layer, true);
}

TensorRef Gpt2Layer::operator()(TensorRef x, const TensorRef& mask, KeyValues& cache,
                                const Memory& memory) const {
  const Ops o(*this, x);
  x = o.add(x, attn(ln_1(x), mask, cache));
  if (crossattention && memory.states)
    x = o.add(x, crossattention->across((*ln_cross_attn)(x), memory.states, memory.mask));
  return o.add(x, mlp(ln_2(x)));
}

Gpt2Body::Gpt2Body(const Gpt2Options& o)
    : wte(o.vocabulary, o.size),
      wpe(o.positions, o.size),
      ln_f(o.size, {.epsilon = o.epsilon}),
      h(o.layers, [&](int64_t i) { return Gpt2Layer(o, i); }),
      size_(o.size) {}

TensorRef Gpt2Body::operator()(const Inputs& inputs, Outputs& present) const {
  const TensorRef& ids = inputs.at("input_ids");
  const Ops o(*this, ids);
  const KeyValues first = past_of(inputs, 0);
  TensorRef positions = inputs.find("position_ids");
  if (!positions) positions = positions_behind(o, ids, first);
  TensorRef x = o.add(wte(ids), wpe(positions));
  const TensorRef queries = o.size(ids, 1);
  const TensorRef keys = first ? o.add(queries, o.size(first.key, 2)) : queries;
  const TensorRef mask =
      attention_mask(o, inputs.find("attention_mask"), queries, keys, x.element_type(), {.causal = true});
  Memory memory{inputs.find("encoder_hidden_states"), {}};
  if (const TensorRef padding = inputs.find("encoder_attention_mask"))
    memory.mask = attention_mask(o, padding, queries, o.size(padding, 1), x.element_type());
  for (size_t i = 0; i < h.size(); ++i) {
    KeyValues cache = past_of(inputs, i);
    x = h[i](x, mask, cache, memory);
    set_present(present, i, cache);
  }
  return ln_f(x);
}

void register_gpt2(ModelRegistry& all) {
  all.add("gpt2", {"feature-extraction", "text-generation", "text-classification", "token-classification"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<DecoderModel>(std::make_shared<Gpt2Body>(Gpt2Options(config)), config,
                                                  task, DecoderNames{"transformer", "classifier", true});
          });
}

}  // namespace lathe::nn
