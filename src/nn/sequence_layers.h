// What BART, mBART, TrOCR and Whisper are made of: attention that keeps what it has seen, layers of an
// encoder and of a decoder, and the decoder as a whole.
#pragma once

#include <optional>
#include <string>

#include "nn/decoding.h"

namespace lathe::nn {

/// How a checkpoint calls the parts of an attention.
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

/// Attention of an encoder or a decoder. Over the sequence itself it appends to the keys that were kept; over
/// another one it makes them once.
class CachedAttention : public Module {
 public:
  CachedAttention(int64_t size, int64_t heads, const CachedAttentionOptions& o = {});
  void fields(Fields& f) override;
  /// `kept`: the past, which becomes the present.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask, KeyValues& kept) const;
  /// `kept`: keys and values of `memory`; made from it where there are none.
  TensorRef across(const TensorRef& x, const TensorRef& memory, const TensorRef& mask, KeyValues& kept) const;
  Linear query, key, value, output;

 private:
  TensorRef attended(const Ops& o, const TensorRef& x, const TensorRef& mask, const KeyValues& kept) const;
  int64_t heads_;
  CachedAttentionOptions options_;
};

/// One side of a model with an encoder and a decoder.
struct SequenceOptions {
  int64_t size = 0, heads = 1, layers = 0, inner = 0;
  std::string activation = "gelu";
  bool norm_first = false;  // before attention and MLP, and once more behind all layers; else behind each
  bool key_bias = true;
  // Of a decoder, and of an encoder of tokens:
  int64_t vocabulary = 0, positions = 0;
  int64_t position_offset = 0;  // rows of the positions before the first
  /// Positions are not learnt but sines and cosines, counted behind this token, which has none itself.
  std::optional<int64_t> sinusoidal_but = {};
  bool scale_embedding = false, norm_embedding = true;
  // Of a decoder:
  bool cross = true;
  int64_t memory_size = 0;  // of what the encoder gives; 0: size

  /// `side`: "encoder" or "decoder" of the keys "encoder_layers", ….
  static SequenceOptions from(const ModelConfig& config, const std::string& side);
  /// Of BART, or with `norm_first` of mBART.
  static SequenceOptions bart(const ModelConfig& config, const std::string& side, bool norm_first);
};

class SequenceLayer : public Module {
 public:
  SequenceLayer(const SequenceOptions& o, bool cross);
  void fields(Fields& f) override;
  /// Of an encoder.
  TensorRef operator()(const TensorRef& x, const TensorRef& mask) const;
  /// Of a decoder.
  TensorRef operator()(TensorRef x, const TensorRef& mask, KeyValues& kept, const TensorRef& memory,
                       const TensorRef& memory_mask, KeyValues& kept_memory) const;
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

/// Tokens and their positions, scaled and normed as the options say. No module of its own: its members are
/// members of the encoder or decoder, in whose name it appends.
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
