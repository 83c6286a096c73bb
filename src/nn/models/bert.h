// BERT (Devlin et al. 2018), and what RoBERTa is made of too.
#pragma once

#include "nn/models/text_encoder.h"

namespace lathe::nn {

struct BertSizes {
  explicit BertSizes(const ModelConfig& c);
  int64_t vocabulary, hidden, layers, heads, inner, positions, types;
  std::string activation, position_type;
  double epsilon;
  bool tied;
};

/// Distances between positions as part of the scores (Shaw et al. 2018; Huang et al. 2020).
enum class Positions : uint8_t { absolute, relative_key, relative_key_query };

struct BertLayer : Module {
  BertLayer(const BertSizes& s, Positions positions);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& x, const TensorRef& mask) const;

  Linear query, key, value, attention_dense, intermediate_dense, output_dense;
  Parameter distances;  // [2 · positions - 1, size of a head]
  LayerNorm attention_norm, output_norm;

 private:
  TensorRef distance_scores(const Ops& o, const TensorRef& q, const TensorRef& k) const;
  Positions positions_;
  int64_t heads_, longest_;
  std::string activation_;
};

struct BertEncoder : Module {
  BertEncoder() = default;
  /// `padding`: counts positions as RoBERTa does.
  BertEncoder(const BertSizes& s, std::optional<int64_t> padding, bool pooled);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const;

  Embedding words, places, types;
  LayerNorm norm;
  ModuleList<BertLayer> layers;
  std::optional<Pooler> pooler;

 private:
  Positions positions_ = Positions::absolute;
  std::optional<int64_t> padding_;
};

/// dense, activation, norm, and the product with the vocabulary: under the names of each family.
struct MaskedHead : Module {
  struct Names {
    const char *dense, *norm, *decoder, *bias;
  };
  MaskedHead(int64_t hidden, int64_t vocabulary, double epsilon, std::string activation, const Names& names);
  void fields(Fields& f) override;
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense, decoder;
  LayerNorm norm;

 private:
  std::string activation_;
  Names names_;
};

/// dense, tanh, out_proj, of the first token: RoBERTa's classifier and MPNet's.
struct FirstTokenHead : Module {
  FirstTokenHead(int64_t hidden, int64_t labels) : dense(hidden, hidden), out_proj(hidden, labels) {}
  void fields(Fields& f) override { f("dense", dense), f("out_proj", out_proj); }
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense, out_proj;
};

}  // namespace lathe::nn
