// Llama (Touvron et al. 2023), and models that differ from it by a few options.
#include "nn/models/llama.h"

#include <algorithm>
#include <optional>

#include "nn/access.h"
#include "nn/decoder_model.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

struct LlamaConfig {
  LlamaConfig(const ModelConfig& c, const LlamaFamily& family)
      : size(c.get<int64_t>("hidden_size")),
        heads(c.get<int64_t>("num_attention_heads")),
        groups(groups_of(c, family)),
        head_size(c.get<int64_t>("head_dim", size / std::max<int64_t>(heads, 1))),
        layers(c.get<int64_t>("num_hidden_layers")),
        inner(c.get<int64_t>("intermediate_size")),
        vocabulary(c.get<int64_t>("vocab_size")),
        epsilon(c.get<double>("rms_norm_eps", 1e-6)),
        activation(activation_in(c, "hidden_act", "silu")),
        mlp_bias(family.bias_keys && c.get<bool>("mlp_bias", false)),
        rope(RopeOptions::from(c)),
        windows(static_cast<size_t>(std::max<int64_t>(layers, 0))) {
    output_bias = family.bias_keys && c.get<bool>("attention_bias", false);
    qkv_bias = family.qkv_bias || output_bias;
    if (rope.partial != 1)
      throw unsupported_config("llama", "heads that are turned whole", "partial_rotary_factor",
                               std::to_string(rope.partial),
                               "transformers turns no part of a head of these either");
    if (family.windows == LlamaFamily::Windows::everywhere)
      std::ranges::fill(windows, window_of(c));
    else if (family.windows == LlamaFamily::Windows::by_layer)
      choose_windows(c);
  }
  int64_t size, heads, groups, head_size, layers, inner, vocabulary;
  double epsilon;
  std::string activation;
  bool mlp_bias, qkv_bias = false, output_bias = false;
  RopeOptions rope;
  std::vector<int64_t> windows;  // of each layer; 0: it sees all

 private:
  int64_t groups_of(const ModelConfig& c, const LlamaFamily& family) const {
    const bool absent = !c.has("num_key_value_heads") && !is_null_in(c, "num_key_value_heads");
    return absent && family.groups ? family.groups : c.get<int64_t>("num_key_value_heads", heads);
  }
  /// A null means that there is no window, unlike a key that is absent.
  static int64_t window_of(const ModelConfig& c) {
    return is_null_in(c, "sliding_window") ? 0 : c.get<int64_t>("sliding_window", 4096);
  }
  /// In Qwen2 layers with a window are those of layer_types, or those behind the first max_window_layers.
  void choose_windows(const ModelConfig& c) {
    const int64_t window = c.get<bool>("use_sliding_window", false) ? window_of(c) : 0;
    if (!c.has("layer_types")) {
      const int64_t full = c.get<int64_t>("max_window_layers", 28);
      for (int64_t i = std::max<int64_t>(full, 0); i < layers; ++i) windows[static_cast<size_t>(i)] = window;
      return;
    }
    const auto types = c.get<std::vector<std::string>>("layer_types");
    if (types.size() != windows.size())
      throw unsupported_config("qwen2", "a type for each of " + std::to_string(windows.size()) + " layers",
                               "layer_types", "of " + std::to_string(types.size()));
    for (size_t i = 0; i < types.size(); ++i) windows[i] = window_of_type(types[i], window);
  }
  static int64_t window_of_type(const std::string& type, int64_t window) {
    if (type == "full_attention") return 0;
    const std::vector<std::string> known{"full_attention", "sliding_attention"};
    if (type != known[1])
      throw unsupported_config("qwen2", "layers of " + detail::listed(known), "layer_types",
                               "with '" + type + "'", detail::near(type, known));
    if (window > 0) return window;
    throw unsupported_config("qwen2", "a window for layers of 'sliding_attention'", "use_sliding_window",
                             "false",
                             "say 'use_sliding_window' true and a 'sliding_window', or 'full_attention'");
  }
};

class LlamaAttention : public Module {
 public:
  explicit LlamaAttention(const LlamaConfig& c)
      : q_proj(c.size, c.heads * c.head_size, {.bias = c.qkv_bias}),
        k_proj(c.size, c.groups * c.head_size, {.bias = c.qkv_bias}),
        v_proj(c.size, c.groups * c.head_size, {.bias = c.qkv_bias}),
        o_proj(c.heads * c.head_size, c.size, {.bias = c.output_bias}),
        heads_(c.heads),
        groups_(c.groups) {}
  void fields(Fields& f) override {
    f("q_proj", q_proj), f("k_proj", k_proj), f("v_proj", v_proj), f("o_proj", o_proj);
  }
  TensorRef operator()(const TensorRef& x, const Rope& rope, const RopeAngles& angles, const TensorRef& mask,
                       KeyValues& cache) const {
    const Ops o(*this, x);
    const TensorRef query = rope(split_heads(o, q_proj(x), heads_), angles);
    KeyValues now{rope(split_heads(o, k_proj(x), groups_), angles), split_heads(o, v_proj(x), groups_)};
    if (cache) now = {o.concat({cache.key, now.key}, 2), o.concat({cache.value, now.value}, 2)};
    cache = now;
    return o_proj(merge_heads(o, attend(o, query, now.key, now.value, {.mask = mask})));
  }
  Linear q_proj, k_proj, v_proj, o_proj;

 private:
  int64_t heads_, groups_;
};

class LlamaLayer : public Module {
 public:
  explicit LlamaLayer(const LlamaConfig& c)
      : self_attn(c),
        mlp(c.size, c.inner, {.activation = c.activation, .bias = c.mlp_bias}),
        input_layernorm(c.size, {.epsilon = c.epsilon}),
        post_attention_layernorm(c.size, {.epsilon = c.epsilon}) {}
  void fields(Fields& f) override {
    f("self_attn", self_attn), f("mlp", mlp), f("input_layernorm", input_layernorm),
        f("post_attention_layernorm", post_attention_layernorm);
  }
  TensorRef operator()(TensorRef x, const Rope& rope, const RopeAngles& angles, const TensorRef& mask,
                       KeyValues& cache) const {
    const Ops o(*this, x);
    x = o.add(x, self_attn(input_layernorm(x), rope, angles, mask, cache));
    return o.add(x, mlp(post_attention_layernorm(x)));
  }
  LlamaAttention self_attn;
  GatedMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm;
};

class LlamaBody : public DecoderBody {
 public:
  explicit LlamaBody(const LlamaConfig& c)
      : embed_tokens(c.vocabulary, c.size),
        layers(c.layers, [&](int64_t) { return LlamaLayer(c); }),
        norm(c.size, {.epsilon = c.epsilon}),
        rotary_emb(c.head_size, c.rope),
        windows_(c.windows),
        size_(c.size) {}
  void fields(Fields& f) override {
    f("embed_tokens", embed_tokens), f("layers", layers), f("norm", norm), f("rotary_emb", rotary_emb);
  }
  Parameter embedding() const override { return embed_tokens.weight; }
  int64_t size() const override { return size_; }

  TensorRef operator()(const Inputs& inputs, Outputs& present) const override {
    const TensorRef& ids = inputs.at("input_ids");
    const Ops o(*this, ids);
    TensorRef x = embed_tokens(ids);
    const KeyValues first = past_of(inputs, 0);
    TensorRef positions = inputs.find("position_ids");
    if (!positions) positions = positions_behind(o, ids, first);
    const RopeAngles angles = rotary_emb.angles(positions);

    TensorRef keys = o.size(ids, 1);
    if (first) keys = o.add(keys, o.size(first.key, 2));
    std::map<int64_t, TensorRef> masks;  // by window: there is one for all layers, or two
    for (size_t i = 0; i < layers.size(); ++i) {
      TensorRef& mask = masks[windows_[i]];
      if (!mask)
        mask = attention_mask(o, inputs.find("attention_mask"), o.size(ids, 1), keys, x.element_type(),
                              {.causal = true, .window = windows_[i]});
      KeyValues cache = past_of(inputs, i);
      x = layers[i](x, rotary_emb, angles, mask, cache);
      set_present(present, i, cache);
    }
    return norm(x);
  }

  Embedding embed_tokens;
  ModuleList<LlamaLayer> layers;
  RmsNorm norm;
  Rope rotary_emb;

 private:
  std::vector<int64_t> windows_;
  int64_t size_;
};

}  // namespace

void add_llama_family(ModelRegistry& all, const std::string& type, const LlamaFamily& family) {
  all.add(type, {"feature-extraction", "text-generation", "text-classification", "token-classification"},
          [family](const ModelConfig& config, std::string_view task) {
            return std::make_unique<DecoderModel>(std::make_shared<LlamaBody>(LlamaConfig(config, family)),
                                                  config, task);
          });
}

void register_llama(ModelRegistry& all) { add_llama_family(all, "llama", {.bias_keys = true}); }

}  // namespace lathe::nn
