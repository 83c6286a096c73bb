// The body of GPT-2 (Radford et al. 2019): norms before attention and MLP, positions learnt, one Linear for
// query, key and value whose weight is [in, out].
#pragma once

#include <optional>
#include <string>

#include "nn/decoder_model.h"
#include "nn/encoder_block.h"

namespace lathe::nn {

struct Gpt2Options {
  explicit Gpt2Options(const ModelConfig& c);
  int64_t size, heads, layers, inner, vocabulary, positions;
  double epsilon;
  std::string activation;
  bool scaled, scaled_by_layer;
  bool cross;  // add_cross_attention: each layer also reads the output of an encoder
};

/// Attention over the tokens themselves, or over the output of an encoder.
class Gpt2Attention : public Module {
 public:
  Gpt2Attention(const Gpt2Options& o, int64_t layer, bool cross);
  void fields(Fields& f) override { f("c_attn", c_attn), f("q_attn", q_attn), f("c_proj", c_proj); }
  /// `cache`: the KV cache of earlier tokens, to which those of x are appended.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask, KeyValues& cache) const;
  /// memory [batch, keys, size].
  TensorRef across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask) const;
  Linear c_attn, c_proj;
  std::optional<Linear> q_attn;  // of cross attention: c_attn makes keys and values only

 private:
  TensorRef attended(const Ops& o, const TensorRef& query, const KeyValues& cache,
                     const TensorRef& mask) const;
  int64_t size_, heads_;
  double scale_;
};

class Gpt2Mlp : public Module {
 public:
  explicit Gpt2Mlp(const Gpt2Options& o);
  void fields(Fields& f) override { f("c_fc", c_fc), f("c_proj", c_proj); }
  TensorRef operator()(const TensorRef& x) const;
  Linear c_fc, c_proj;

 private:
  std::string activation_;
};

class Gpt2Layer : public Module {
 public:
  Gpt2Layer(const Gpt2Options& o, int64_t layer);
  void fields(Fields& f) override {
    f("ln_1", ln_1), f("attn", attn), f("ln_cross_attn", ln_cross_attn), f("crossattention", crossattention);
    f("ln_2", ln_2), f("mlp", mlp);
  }
  TensorRef operator()(TensorRef x, const TensorRef& mask, KeyValues& cache, const Memory& memory) const;
  LayerNorm ln_1, ln_2;
  Gpt2Attention attn;
  std::optional<LayerNorm> ln_cross_attn;
  std::optional<Gpt2Attention> crossattention;
  Gpt2Mlp mlp;
};

/// Besides the inputs of every decoder "encoder_hidden_states" [batch, keys, size] and
/// "encoder_attention_mask" [batch, keys]. Keys and values of cross attention are computed in every run.
class Gpt2Body : public DecoderBody {
 public:
  explicit Gpt2Body(const Gpt2Options& o);
  void fields(Fields& f) override { f("wte", wte), f("wpe", wpe), f("h", h), f("ln_f", ln_f); }
  TensorRef operator()(const Inputs& inputs, Outputs& present) const override;
  Parameter embedding() const override { return wte.weight; }
  int64_t size() const override { return size_; }
  Embedding wte, wpe;
  LayerNorm ln_f;
  ModuleList<Gpt2Layer> h;

 private:
  int64_t size_;
};

}  // namespace lathe::nn
