// The body of BERT (Devlin et al. 2018), which is RoBERTa's too.
#pragma once

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
  BertLayer(const BertSizes& s, Positions positions);
  void fields(Fields& f) override;
  Parameter distances;  // [2 · positions - 1, size of a head]

 protected:
  TensorRef bias(const Ops& o, const TensorRef& q, const TensorRef& k) const override;

 private:
  Positions positions_;
  int64_t longest_;
};

class BertBody : public TextEncoderBody {
 public:
  /// `padding`: counts positions as RoBERTa does. Throws bad_argument for a position_embedding_type that is
  /// not known.
  explicit BertBody(const ModelConfig& config, std::optional<int64_t> padding = {});
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const override;
  Parameter embedding() const override { return words.weight; }
  int64_t size() const override { return size_; }
  Embedding words, places, types;
  LayerNorm norm;
  ModuleList<BertLayer> layers;

 private:
  int64_t size_ = 0;
  Positions positions_ = Positions::absolute;
  std::optional<int64_t> padding_;
  bool causal_ = false;  // is_decoder: tokens see those before them
};

/// The names of RoBERTa, whose heads MPNet has too.
TextEncoderNames roberta_names(const std::string& body, const ModelConfig& config);
/// BERT as RoBERTa and its relatives have it.
void add_roberta(ModelRegistry& all, const std::string& type);

}  // namespace lathe::nn
