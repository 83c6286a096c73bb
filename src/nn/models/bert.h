// The body of BERT (Devlin et al. 2018), which is RoBERTa's too.
#pragma once

#include "nn/sequence_layers.h"
#include "nn/text_encoder.h"

namespace lathe::nn {

/// Sizes under the names that BERT, RoBERTa and MPNet share.
struct BertSizes {
  explicit BertSizes(const ModelConfig& c);
  EncoderBlockOptions layer;
  int64_t vocabulary, layers, positions, types;
};

/// Distances between positions as part of the scores (Shaw et al. 2018; Huang et al. 2020).
enum class Positions : uint8_t { absolute, relative_key, relative_key_query };

class BertLayer : public EncoderBlock {
 public:
  /// `cross`: the layer also reads the output of an encoder.
  BertLayer(const BertSizes& s, Positions positions, bool cross);
  void fields(Fields& f) override;
  Parameter distances;  // [2 · positions - 1, size of a head]
  std::optional<CachedAttention> crossattention;
  std::optional<LayerNorm> cross_norm;

 protected:
  TensorRef bias(const Ops& o, const TensorRef& q, const TensorRef& k) const override;
  TensorRef between(const TensorRef& x, const Memory& memory) const override;

 private:
  Positions positions_;
  int64_t longest_;
};

class BertBody : public TextEncoderBody {
 public:
  /// `padding`: counts positions as RoBERTa does. `cross`: layers also read the output of an encoder. Throws
  /// bad_argument for an unknown position_embedding_type.
  explicit BertBody(const ModelConfig& config, std::optional<int64_t> padding = {}, bool cross = false);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const override {
    return (*this)(ids, mask, types, {});
  }
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& types,
                       const TensorRef& encoded) const;
  Parameter embedding() const override { return word_embeddings.weight; }
  int64_t size() const override { return size_; }
  Embedding word_embeddings, position_embeddings, types;
  LayerNorm norm;
  ModuleList<BertLayer> layers;

 private:
  int64_t size_ = 0;
  Positions positions_ = Positions::absolute;
  std::optional<int64_t> padding_;
  bool causal_ = false;  // is_decoder: tokens see those before them
};

/// The body as the decoder behind an encoder: "input_ids", "attention_mask", "encoder_hidden_states". It has
/// no KV cache.
class BertDecoder : public DecoderBody {
 public:
  /// The model type is "bert", "roberta" or "xlm-roberta". Throws not_supported if the configuration is not
  /// of a decoder with cross attention.
  explicit BertDecoder(const ModelConfig& config);
  void fields(Fields& f) override { f("", body_); }
  TensorRef operator()(const Inputs& inputs, Outputs& present) const override;
  Parameter embedding() const override { return body_.embedding(); }
  int64_t size() const override { return body_.size(); }

 private:
  BertBody body_;
};

TextEncoderNames bert_names(const ModelConfig& config);
/// The names of RoBERTa, whose heads MPNet has too.
TextEncoderNames roberta_names(const std::string& body, const ModelConfig& config);
/// BERT as RoBERTa and its relatives have it.
void add_roberta(ModelRegistry& all, const std::string& type);

}  // namespace lathe::nn
