// GPT-2 (Radford et al. 2019): norms before attention and MLP, positions learnt, one Linear for query, key
// and value whose weight is [in, out].
#include <cmath>

#include "nn/decoding.h"

namespace lathe::nn {
namespace {

struct Gpt2Config {
  explicit Gpt2Config(const ModelConfig& c)
      : size(c.get<int64_t>("n_embd", 768)),
        heads(c.get<int64_t>("n_head", 12)),
        layers(c.get<int64_t>("n_layer", 12)),
        inner(c.get<int64_t>("n_inner", 4 * size)),
        vocabulary(c.get<int64_t>("vocab_size", 50257)),
        positions(c.get<int64_t>("n_positions", 1024)),
        epsilon(c.get<double>("layer_norm_epsilon", 1e-5)),
        activation(Activation(c.get<std::string>("activation_function", "gelu_new")).name()),
        scaled(c.get<bool>("scale_attn_weights", true)),
        scaled_by_layer(c.get<bool>("scale_attn_by_inverse_layer_idx", false)) {}
  int64_t size, heads, layers, inner, vocabulary, positions;
  double epsilon;
  std::string activation;
  bool scaled, scaled_by_layer;
};

class Gpt2Attention : public Module {
 public:
  Gpt2Attention(const Gpt2Config& c, int64_t layer)
      : c_attn(c.size, 3 * c.size, {.transposed = true}),
        c_proj(c.size, c.size, {.transposed = true}),
        size_(c.size),
        heads_(c.heads),
        scale_((c.scaled ? 1 / std::sqrt(static_cast<double>(c.size / c.heads)) : 1.0) /
               (c.scaled_by_layer ? static_cast<double>(layer + 1) : 1.0)) {}
  void fields(Fields& f) override { f("c_attn", c_attn), f("c_proj", c_proj); }

  /// `kept`: the past, which becomes the present.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask, KeyValues& kept) const {
    const Ops o(*this, x);
    const std::vector<TensorRef> parts = o.split(c_attn(x), {size_, size_, size_}, -1);
    const TensorRef query = split_heads(o, parts[0], heads_);
    KeyValues now{split_heads(o, parts[1], heads_), split_heads(o, parts[2], heads_)};
    if (kept) now = {o.concat({kept.key, now.key}, 2), o.concat({kept.value, now.value}, 2)};
    kept = now;
    return c_proj(merge_heads(o, attend(o, query, now.key, now.value, {.mask = mask, .scale = scale_})));
  }

  Linear c_attn, c_proj;

 private:
  int64_t size_, heads_;
  double scale_;
};

class Gpt2Mlp : public Module {
 public:
  explicit Gpt2Mlp(const Gpt2Config& c)
      : c_fc(c.size, c.inner, {.transposed = true}),
        c_proj(c.inner, c.size, {.transposed = true}),
        activation_(c.activation) {}
  void fields(Fields& f) override { f("c_fc", c_fc), f("c_proj", c_proj); }
  TensorRef operator()(const TensorRef& x) const {
    return c_proj(activate(Ops(*this, x), activation_, c_fc(x)));
  }
  Linear c_fc, c_proj;

 private:
  std::string activation_;
};

class Gpt2Layer : public Module {
 public:
  Gpt2Layer(const Gpt2Config& c, int64_t layer)
      : ln_1(c.size, {.epsilon = c.epsilon}), ln_2(c.size, {.epsilon = c.epsilon}), attn(c, layer), mlp(c) {}
  void fields(Fields& f) override { f("ln_1", ln_1), f("attn", attn), f("ln_2", ln_2), f("mlp", mlp); }
  TensorRef operator()(TensorRef x, const TensorRef& mask, KeyValues& kept) const {
    const Ops o(*this, x);
    x = o.add(x, attn(ln_1(x), mask, kept));
    return o.add(x, mlp(ln_2(x)));
  }
  LayerNorm ln_1, ln_2;
  Gpt2Attention attn;
  Gpt2Mlp mlp;
};

class Gpt2Body : public DecoderBody {
 public:
  explicit Gpt2Body(const Gpt2Config& c)
      : wte(c.vocabulary, c.size),
        wpe(c.positions, c.size),
        ln_f(c.size, {.epsilon = c.epsilon}),
        h(c.layers, [&](int64_t i) { return Gpt2Layer(c, i); }),
        size_(c.size) {}
  void fields(Fields& f) override { f("wte", wte), f("wpe", wpe), f("h", h), f("ln_f", ln_f); }
  Parameter embedding() const override { return wte.weight; }
  int64_t size() const override { return size_; }

  TensorRef operator()(const Inputs& inputs, Outputs& present) const override {
    const TensorRef& ids = inputs.at("input_ids");
    const Ops o(*this, ids);
    const KeyValues first = past_of(inputs, 0);
    TensorRef positions = inputs.find("position_ids");
    if (!positions) positions = positions_behind(o, ids, first);
    TensorRef x = o.add(wte(ids), wpe(positions));
    TensorRef keys = o.size(ids, 1);
    if (first) keys = o.add(keys, o.size(first.key, 2));
    const TensorRef mask = attention_mask(o, inputs.find("attention_mask"), o.size(ids, 1), keys,
                                          x.element_type(), {.causal = true});
    for (size_t i = 0; i < h.size(); ++i) {
      KeyValues kept = past_of(inputs, i);
      x = h[i](x, mask, kept);
      set_present(present, i, kept);
    }
    return ln_f(x);
  }

  Embedding wte, wpe;
  LayerNorm ln_f;
  ModuleList<Gpt2Layer> h;

 private:
  int64_t size_;
};

}  // namespace

void register_gpt2(ModelRegistry& all) {
  all.add("gpt2", {"feature-extraction", "text-generation", "text-classification", "token-classification"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<DecoderModel>(std::make_shared<Gpt2Body>(Gpt2Config(config)), config,
                                                  task, DecoderNames{"transformer", "classifier", true});
          });
}

}  // namespace lathe::nn
