// Gemma 3 (Gemma Team 2025), the model of text: norms that add 1 to their weights, before and behind both
// parts of a layer and on each head's queries and keys; windows in most layers, which turn heads by other
// angles.
#include <cmath>

#include "nn/access.h"
#include "nn/decoder_model.h"
#include "nn/models.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

struct Gemma3Config {
  explicit Gemma3Config(const ModelConfig& c)
      : size(c.get<int64_t>("hidden_size")),
        heads(c.get<int64_t>("num_attention_heads", 8)),
        groups(c.get<int64_t>("num_key_value_heads", 4)),
        head_size(c.get<int64_t>("head_dim", 256)),
        layers(c.get<int64_t>("num_hidden_layers")),
        inner(c.get<int64_t>("intermediate_size")),
        vocabulary(c.get<int64_t>("vocab_size")),
        epsilon(c.get<double>("rms_norm_eps", 1e-6)),
        activation(activation_in(c, "hidden_activation", "gelu_pytorch_tanh")),
        bias(c.get<bool>("attention_bias", false)),
        scale(1 / std::sqrt(c.get<double>("query_pre_attn_scalar", 256))),
        score_cap(c.get<double>("attn_logit_softcapping", 0)),
        logit_cap(c.get<double>("final_logit_softcapping", 0)),
        global_rope(RopeOptions::from(c)) {
    if (!c.has("rope_theta")) global_rope.theta = 1e6;
    local_rope.theta = c.get<double>("rope_local_base_freq", 1e4);
    if (c.get<bool>("use_bidirectional_attention", false))
      throw unsupported_config("gemma3_text", "a decoder", "use_bidirectional_attention", "true");
    choose_windows(c);
  }
  int64_t size, heads, groups, head_size, layers, inner, vocabulary;
  double epsilon;
  std::string activation;
  bool bias;
  double scale, score_cap, logit_cap;  // caps: 0 is none
  RopeOptions global_rope, local_rope;
  std::vector<int64_t> windows;  // of each layer; 0: it sees all

 private:
  void choose_windows(const ModelConfig& c) {
    const auto window = c.get<int64_t>("sliding_window", 4096);
    if (window < 1)
      throw unsupported_config("gemma3_text", "a window of 1 or more", "sliding_window",
                               std::to_string(window));
    const auto pattern = std::max<int64_t>(1, c.get<int64_t>("sliding_window_pattern", 6));
    for (int64_t i = 0; i < layers; ++i) windows.push_back((i + 1) % pattern == 0 ? 0 : window);
    if (!c.has("layer_types")) return;
    const auto types = c.get<std::vector<std::string>>("layer_types");
    if (types.size() != windows.size())
      throw unsupported_config("gemma3_text", "a type for each of " + std::to_string(layers) + " layers",
                               "layer_types", "of " + std::to_string(types.size()));
    const std::vector<std::string> known{"full_attention", "sliding_attention"};
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != known[0] && types[i] != known[1])
        throw unsupported_config("gemma3_text", "layers of " + detail::listed(known), "layer_types",
                                 "with '" + types[i] + "'", detail::near(types[i], known));
      windows[i] = types[i] == known[0] ? 0 : window;
    }
  }
};

RmsNorm gemma3_norm(const Gemma3Config& c, int64_t size) {
  return RmsNorm(size, {.epsilon = c.epsilon, .plus_one = true});
}

class Gemma3Attention : public Module {
 public:
  explicit Gemma3Attention(const Gemma3Config& c)
      : q_proj(c.size, c.heads * c.head_size, {.bias = c.bias}),
        k_proj(c.size, c.groups * c.head_size, {.bias = c.bias}),
        v_proj(c.size, c.groups * c.head_size, {.bias = c.bias}),
        o_proj(c.heads * c.head_size, c.size, {.bias = c.bias}),
        q_norm(gemma3_norm(c, c.head_size)),
        k_norm(gemma3_norm(c, c.head_size)),
        heads_(c.heads),
        groups_(c.groups),
        scale_(c.scale),
        cap_(c.score_cap) {}
  void fields(Fields& f) override {
    f("q_proj", q_proj), f("k_proj", k_proj), f("v_proj", v_proj), f("o_proj", o_proj);
    f("q_norm", q_norm), f("k_norm", k_norm);
  }
  TensorRef operator()(const TensorRef& x, const Rope& rope, const RopeAngles& angles, const TensorRef& mask,
                       KeyValues& cache) const {
    const Ops o(*this, x);
    const TensorRef query = rope(q_norm(split_heads(o, q_proj(x), heads_)), angles);
    KeyValues now{rope(k_norm(split_heads(o, k_proj(x), groups_)), angles),
                  split_heads(o, v_proj(x), groups_)};
    if (cache) now = {o.concat({cache.key, now.key}, 2), o.concat({cache.value, now.value}, 2)};
    cache = now;
    const AttendOptions how{.mask = mask, .scale = scale_, .softcap = cap_};
    return o_proj(merge_heads(o, attend(o, query, now.key, now.value, how)));
  }
  Linear q_proj, k_proj, v_proj, o_proj;
  RmsNorm q_norm, k_norm;

 private:
  int64_t heads_, groups_;
  double scale_, cap_;
};

class Gemma3Layer : public Module {
 public:
  explicit Gemma3Layer(const Gemma3Config& c)
      : self_attn(c),
        mlp(c.size, c.inner, {.activation = c.activation}),
        input_layernorm(gemma3_norm(c, c.size)),
        post_attention_layernorm(gemma3_norm(c, c.size)),
        pre_feedforward_layernorm(gemma3_norm(c, c.size)),
        post_feedforward_layernorm(gemma3_norm(c, c.size)) {}
  void fields(Fields& f) override {
    f("self_attn", self_attn), f("mlp", mlp), f("input_layernorm", input_layernorm);
    f("post_attention_layernorm", post_attention_layernorm);
    f("pre_feedforward_layernorm", pre_feedforward_layernorm);
    f("post_feedforward_layernorm", post_feedforward_layernorm);
  }
  TensorRef operator()(TensorRef x, const Rope& rope, const RopeAngles& angles, const TensorRef& mask,
                       KeyValues& cache) const {
    const Ops o(*this, x);
    x = o.add(x, post_attention_layernorm(self_attn(input_layernorm(x), rope, angles, mask, cache)));
    return o.add(x, post_feedforward_layernorm(mlp(pre_feedforward_layernorm(x))));
  }
  Gemma3Attention self_attn;
  GatedMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm, pre_feedforward_layernorm, post_feedforward_layernorm;
};

class Gemma3Body : public DecoderBody {
 public:
  explicit Gemma3Body(const Gemma3Config& c)
      : embed_tokens(c.vocabulary, c.size),
        layers(c.layers, [&](int64_t) { return Gemma3Layer(c); }),
        norm(gemma3_norm(c, c.size)),
        rotary_emb(c.head_size, c.global_rope),
        rotary_emb_local(c.head_size, c.local_rope),
        windows_(c.windows),
        size_(c.size) {}
  void fields(Fields& f) override {
    f("embed_tokens", embed_tokens), f("layers", layers), f("norm", norm);
    f("rotary_emb", rotary_emb), f("rotary_emb_local", rotary_emb_local);
  }
  Parameter embedding() const override { return embed_tokens.weight; }
  int64_t size() const override { return size_; }

  TensorRef operator()(const Inputs& inputs, Outputs& present) const override {
    const TensorRef& ids = inputs.at("input_ids");
    const Ops o(*this, ids);
    // The factor has the type of the weights, as transformers rounds it.
    TensorRef x = o.mul(embed_tokens(ids), std::sqrt(static_cast<double>(size_)));
    const KeyValues first = past_of(inputs, 0);
    TensorRef positions = inputs.find("position_ids");
    if (!positions) positions = positions_behind(o, ids, first);
    const RopeAngles global = rotary_emb.angles(positions), local = rotary_emb_local.angles(positions);
    TensorRef keys = o.size(ids, 1);
    if (first) keys = o.add(keys, o.size(first.key, 2));
    std::map<int64_t, TensorRef> masks;  // by window
    for (size_t i = 0; i < layers.size(); ++i) {
      const int64_t window = windows_[i];
      TensorRef& mask = masks[window];
      if (!mask)
        mask = attention_mask(o, inputs.find("attention_mask"), o.size(ids, 1), keys, x.element_type(),
                              {.causal = true, .window = window});
      KeyValues cache = past_of(inputs, i);
      x = layers[i](x, window ? rotary_emb_local : rotary_emb, window ? local : global, mask, cache);
      set_present(present, i, cache);
    }
    return norm(x);
  }

  Embedding embed_tokens;
  ModuleList<Gemma3Layer> layers;
  RmsNorm norm;
  Rope rotary_emb, rotary_emb_local;

 private:
  std::vector<int64_t> windows_;
  int64_t size_;
};

/// Caps the logits of text generation where the configuration says so.
class Gemma3Model : public DecoderModel {
 public:
  Gemma3Model(const Gemma3Config& c, const ModelConfig& config, std::string_view task)
      : DecoderModel(std::make_shared<Gemma3Body>(c), config, task, {.tied = true}),
        cap_(task == "text-generation" ? c.logit_cap : 0) {}
  Outputs forward(Network& network, const Inputs& inputs) const override {
    Outputs all = DecoderModel::forward(network, inputs);
    if (cap_ == 0) return all;
    const TensorRef logits = all.at("logits");
    const Ops o(*this, logits);
    all.set("logits", o.mul(o.op("Tanh", {o.div(logits, cap_)}), cap_));
    return all;
  }

 private:
  double cap_;
};

}  // namespace

void register_gemma3_text(ModelRegistry& all) {
  all.add("gemma3_text", {"feature-extraction", "text-generation"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<Gemma3Model>(Gemma3Config(config), config, task);
          });
}

}  // namespace lathe::nn
