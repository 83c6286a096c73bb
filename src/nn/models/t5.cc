// T5 (Raffel et al. 2020): positions as a bias by buckets of distance, which the first layer has for all;
// norms without mean; no scale in attention.
#include <cmath>

#include "nn/sequence_layers.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

struct T5Config {
  T5Config(const ModelConfig& c, bool decoder)
      : size(c.get<int64_t>("d_model")),
        head_size(c.get<int64_t>("d_kv")),
        heads(c.get<int64_t>("num_heads")),
        layers(c.get<int64_t>("num_layers")),
        inner(c.get<int64_t>("d_ff")),
        buckets(c.get<int64_t>("relative_attention_num_buckets", 32)),
        max_distance(c.get<int64_t>("relative_attention_max_distance", 128)),
        epsilon(c.get<double>("layer_norm_epsilon", 1e-6)),
        activation(c.get<std::string>("feed_forward_proj", "relu")),
        decoder(decoder) {
    if (decoder) layers = c.get<int64_t>("num_decoder_layers", layers);
    if (layers < 1)  // the first has the positions of all
      throw unsupported_config("t5", "a layer at least",
                               decoder && c.has("num_decoder_layers") ? "num_decoder_layers" : "num_layers",
                               std::to_string(layers));
    constexpr std::string_view prefix = "gated-";
    gated = activation.starts_with(prefix);
    if (gated) activation.erase(0, prefix.size());
    if (gated && activation == "gelu") activation = "gelu_new";  // as the published weights were trained
    activation = activation_called(activation, "feed_forward_proj");
    // Keys of their own take precedence over what feed_forward_proj implies.
    gated = c.get<bool>("is_gated_act", gated);
    activation = activation_in(c, "dense_act_fn", activation.c_str());
    refuse_other_names("t5", c,
                       {{"hidden_size", "d_model"},
                        {"num_attention_heads", "num_heads"},
                        {"num_hidden_layers", "num_layers"},
                        {"head_dim", "d_kv"}});
  }
  int64_t size, head_size, heads, layers, inner, buckets, max_distance;
  double epsilon;
  std::string activation;
  bool decoder, gated = false;
};

/// An attention or the MLP with the norm before it. The checkpoint calls each "layer.<i>".
class T5Attention : public Module {
 public:
  T5Attention(const T5Config& c, const char* name, bool biased)
      : attention(c.size, c.heads,
                  {.head_size = c.head_size, .bias = false, .scale = 1, .names = {"q", "k", "v", "o"}}),
        layer_norm(c.size, {.epsilon = c.epsilon}),
        name_(name) {
    if (biased) relative_attention_bias.emplace(c.buckets, c.heads);
  }
  void fields(Fields& f) override {
    f(name_, attention);
    f(name_ + std::string(".relative_attention_bias"), relative_attention_bias);
    f("layer_norm", layer_norm);
  }
  TensorRef operator()(const TensorRef& x, const TensorRef& mask, KeyValues& cache) const {
    return Ops(*this, x).add(x, attention(layer_norm(x), mask, cache));
  }
  TensorRef across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask,
                   KeyValues& cache) const {
    return Ops(*this, x).add(x, attention.across(layer_norm(x), memory, mask, cache));
  }
  CachedAttention attention;
  std::optional<Embedding> relative_attention_bias;
  RmsNorm layer_norm;

 private:
  const char* name_;
};

class T5Mlp : public Module {
 public:
  explicit T5Mlp(const T5Config& c)
      : wi(c.size, c.inner, {.bias = false}),
        wo(c.inner, c.size, {.bias = false}),
        layer_norm(c.size, {.epsilon = c.epsilon}),
        activation_(c.activation) {
    if (c.gated) wi_1.emplace(c.size, c.inner, LinearOptions{.bias = false});
  }
  void fields(Fields& f) override {
    f(wi_1 ? "DenseReluDense.wi_0" : "DenseReluDense.wi", wi);
    f("DenseReluDense.wi_1", wi_1), f("DenseReluDense.wo", wo), f("layer_norm", layer_norm);
  }
  TensorRef operator()(const TensorRef& x) const {
    const Ops o(*this, x);
    const TensorRef normed = layer_norm(x);
    TensorRef y = activate(o, activation_, wi(normed));
    if (wi_1) y = o.mul(y, (*wi_1)(normed));
    return o.add(x, wo(y));
  }
  Linear wi, wo;
  std::optional<Linear> wi_1;
  RmsNorm layer_norm;

 private:
  std::string activation_;
};

class T5Block : public Module {
 public:
  T5Block(const T5Config& c, bool first) : self(c, "SelfAttention", first), mlp(c) {
    if (c.decoder) cross.emplace(c, "EncDecAttention", false);
  }
  void fields(Fields& f) override {
    f("layer.0", self), f("layer.1", cross), f(cross ? "layer.2" : "layer.1", mlp);
  }
  T5Attention self;
  std::optional<T5Attention> cross;
  T5Mlp mlp;
};

/// The encoder or the decoder.
class T5Stack : public Module {
 public:
  explicit T5Stack(const T5Config& c)
      : block(c.layers, [&](int64_t i) { return T5Block(c, i == 0); }),
        final_layer_norm(c.size, {.epsilon = c.epsilon}),
        bias_{c.buckets, c.max_distance, !c.decoder},
        causal_(c.decoder) {}
  void fields(Fields& f) override { f("block", block), f("final_layer_norm", final_layer_norm); }

  /// x: embedded tokens. "attention_mask" is of x; the rest as SequenceDecoder has it.
  TensorRef operator()(TensorRef x, const Inputs& inputs, Outputs& present) const {
    const Ops o(*this, x);
    const TensorRef memory = inputs.find("encoder_hidden_states");
    const KeyValues first = past_of(inputs, 0, "decoder");
    const TensorRef queries = o.size(x, 1);
    const TensorRef keys = first ? o.add(queries, o.size(first.key, 2)) : queries;
    TensorRef scores =
        relative_bias(o, o.use(block[0].self.relative_attention_bias->weight), queries, keys, bias_);
    if (const TensorRef mask = attention_mask(o, inputs.find("attention_mask"), queries, keys,
                                              x.element_type(), {.causal = causal_}))
      scores = o.add(scores, mask);
    TensorRef memory_mask;
    if (const TensorRef padding = inputs.find("encoder_attention_mask"))
      memory_mask = attention_mask(o, padding, queries, o.size(padding, 1), x.element_type());
    for (size_t i = 0; i < block.size(); ++i) {
      KeyValues cache = past_of(inputs, i, "decoder"), cross_cache = past_of(inputs, i, "encoder");
      x = block[i].self(x, scores, cache);
      if (block[i].cross) {
        x = block[i].cross->across(x, memory, memory_mask, cross_cache);
        set_present(present, i, cache, "decoder");
        set_present(present, i, cross_cache, "encoder");
      }
      x = block[i].mlp(x);
    }
    return final_layer_norm(x);
  }
  ModuleList<T5Block> block;
  RmsNorm final_layer_norm;

 private:
  RelativeBiasOptions bias_;
  bool causal_;
};

class T5Model : public Seq2SeqModel {
 public:
  T5Model(const ModelConfig& config, std::string_view task)
      : shared(config.get<int64_t>("vocab_size"), config.get<int64_t>("d_model")),
        encoder(T5Config(config, false)),
        decoder(T5Config(config, true)) {
    // These are tied whatever the configuration says, unless the checkpoint has others.
    encoder_tokens.weight = decoder_tokens.weight = shared.weight;
    if (task != "text2text-generation") return;
    const int64_t size = config.get<int64_t>("d_model");
    lm_head.emplace(size, config.get<int64_t>("vocab_size"), LinearOptions{.bias = false});
    const bool tied = config.get<bool>("tie_word_embeddings", true);
    if (tied) lm_head->weight = shared.weight;
    if (config.get<bool>("scale_decoder_outputs", tied)) scale_ = 1 / std::sqrt(static_cast<double>(size));
  }
  void fields(Fields& f) override {
    f("shared", shared), f("encoder.embed_tokens", encoder_tokens), f("encoder", encoder);
    f("decoder.embed_tokens", decoder_tokens), f("decoder", decoder), f("lm_head", lm_head);
  }

  Outputs encode(Network&, const Inputs& inputs) const override {
    Outputs none;
    return {{"last_hidden_state", encoder(encoder_tokens(inputs.at("input_ids")), inputs, none)}};
  }

  Outputs decode(Network&, const Inputs& inputs) const override {
    Outputs present, outputs;
    TensorRef x = decoder(decoder_tokens(inputs.at("input_ids")), inputs, present);
    if (lm_head) {
      // Tied weights have the magnitude of embeddings.
      if (scale_ != 1) x = Ops(*this, x).mul(x, scale_);
      outputs.set("logits", (*lm_head)(x));
    } else {
      outputs.set("last_hidden_state", x);
    }
    for (const auto& [name, t] : present) outputs.set(name, t);
    return outputs;
  }

  Embedding shared, encoder_tokens, decoder_tokens;
  T5Stack encoder, decoder;
  std::optional<Linear> lm_head;

 private:
  double scale_ = 1;
};

/// The encoder alone, which T5 also has for sentences.
class T5EncoderModel : public Model {
 public:
  explicit T5EncoderModel(const ModelConfig& config)
      : shared(config.get<int64_t>("vocab_size"), config.get<int64_t>("d_model")),
        encoder(T5Config(config, false)) {
    encoder_tokens.weight = shared.weight;
  }
  void fields(Fields& f) override {
    f("shared", shared), f("encoder.embed_tokens", encoder_tokens), f("encoder", encoder);
  }
  Outputs forward(Network&, const Inputs& inputs) const override {
    Outputs none;
    return {{"last_hidden_state", encoder(encoder_tokens(inputs.at("input_ids")), inputs, none)}};
  }
  Embedding shared, encoder_tokens;
  T5Stack encoder;
};

}  // namespace

void register_t5(ModelRegistry& all) {
  all.add("t5", {"feature-extraction", "text2text-generation"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<T5Model>(config, task);
          });
  all.add("t5", {"sentence-similarity"}, [](const ModelConfig& config, std::string_view) {
    return std::make_unique<T5EncoderModel>(config);
  });
}

}  // namespace lathe::nn
