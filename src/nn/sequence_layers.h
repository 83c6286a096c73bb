// Parts of BART, mBART, TrOCR and Whisper: attention with a KV cache, layers of an encoder and of a decoder,
// and the decoder as a whole.
#pragma once

#include <optional>
#include <string>

#include "nn/decoder_model.h"

namespace lathe::nn {

/// The names of an attention's parts in a checkpoint.
struct AttentionNames {
  std::string query = "q_proj", key = "k_proj", value = "v_proj", output = "out_proj";
};
struct CachedAttentionOptions {
  int64_t head_size = 0;    // 0: size / heads
  int64_t memory_size = 0;  // of what `across` reads; 0: size
  bool bias = true, key_bias = true;
  std::optional<double> scale = {};
  AttentionNames names = {};
};

/// Attention of an encoder or a decoder with a KV cache. Over the sequence itself it appends to the cache;
/// over another one it fills it once.
class CachedAttention : public Module {
 public:
  CachedAttention(int64_t size, int64_t heads, const CachedAttentionOptions& o = {});
  void fields(Fields& f) override;
  /// `kept`: the past, which becomes the present.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask, KeyValues& cache) const;
  /// `kept`: keys and values of `memory`; computed from it if there are none.
  TensorRef across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask,
                   KeyValues& cache) const;
  Linear query, key, value, output;

 private:
  TensorRef attended(const Ops& o, const TensorRef& x, const TensorRef& mask, const KeyValues& cache) const;
  int64_t heads_;
  CachedAttentionOptions options_;
};

/// One side of a model with an encoder and a decoder.
struct SequenceOptions {
  int64_t size = 0, heads = 1, layers = 0, inner = 0;
  std::string activation = "gelu";
  bool norm_first = false;  // before attention and MLP, and once more behind all layers; else behind each
  bool key_bias = true;
  // For a decoder, and for an encoder of tokens:
  int64_t vocabulary = 0, positions = 0;
  int64_t position_offset = 0;  // rows of the positions before the first
  /// Positions are not learned but sines and cosines, counted from behind this token, which has none itself.
  std::optional<int64_t> sinusoidal_but = {};
  bool scale_embedding = false, norm_embedding = true;
  // For a decoder:
  bool cross = true;
  int64_t memory_size = 0;  // of the encoder's output; 0: size

  /// `side`: "encoder" or "decoder" of the keys "encoder_layers", ….
  static SequenceOptions from(const ModelConfig& config, const std::string& side);
  /// The options of BART, or with `norm_first` of mBART.
  static SequenceOptions bart(const ModelConfig& config, const std::string& side, bool norm_first);
};

class SequenceLayer : public Module {
 public:
  SequenceLayer(const SequenceOptions& o, bool cross);
  void fields(Fields& f) override;
  /// Applies the layer of an encoder.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask) const;
  /// Applies the layer of a decoder.
  TensorRef operator()(TensorRef x, const TensorRef& mask, KeyValues& cache, const TensorRef& memory,
                       const TensorRef& memory_mask, KeyValues& cross_cache) const;
  CachedAttention self_attn;
  LayerNorm self_attn_layer_norm, final_layer_norm;
  std::optional<CachedAttention> encoder_attn;
  std::optional<LayerNorm> encoder_attn_layer_norm;
  Linear fc1, fc2;

 private:
  TensorRef mlp(const Ops& o, const TensorRef& x) const;
  std::string activation_;
  bool norm_first_;
};

/// Tokens and their positions, scaled and normed as the options say. It is no module of its own: its members
/// are members of the encoder or decoder.
class TokenEmbedding {
 public:
  explicit TokenEmbedding(const SequenceOptions& o);
  void fields(Fields& f);
  TensorRef operator()(const Ops& o, const TensorRef& ids, const KeyValues& past) const;
  Embedding embed_tokens;
  std::optional<Embedding> embed_positions;
  std::optional<LayerNorm> layernorm_embedding;

 private:
  TensorRef positions(const Ops& o, const TensorRef& ids, const KeyValues& past) const;
  double scale_;
  int64_t size_, offset_;
  std::optional<int64_t> padding_;
};

/// An encoder of tokens: "input_ids", "attention_mask" → hidden states.
class SequenceEncoder : public Module {
 public:
  explicit SequenceEncoder(const SequenceOptions& o);
  void fields(Fields& f) override;
  TensorRef operator()(const Inputs& inputs) const;
  TokenEmbedding embedding;
  ModuleList<SequenceLayer> layers;
  std::optional<LayerNorm> layer_norm;
};

/// A decoder: with an encoder's hidden states ("encoder_hidden_states", "encoder_attention_mask", and a past
/// in two parts) or for itself.
class SequenceDecoder : public DecoderBody {
 public:
  explicit SequenceDecoder(const SequenceOptions& o);
  void fields(Fields& f) override;
  TensorRef operator()(const Inputs& inputs, Outputs& present) const override;
  Parameter embedding() const override { return tokens.embed_tokens.weight; }
  int64_t size() const override { return size_; }
  TokenEmbedding tokens;
  ModuleList<SequenceLayer> layers;
  std::optional<LayerNorm> layer_norm;

 private:
  int64_t size_;
};

}  // namespace lathe::nn
