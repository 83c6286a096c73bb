// The layer of a transformer's encoder: attention over all of a sequence, then an MLP. BERT, ViT, CLIP and
// their relatives have it under names of their own.
#pragma once

#include <string>

#include "lathe/nn.h"

namespace lathe::nn {

/// Paths of the parts in a checkpoint.
struct EncoderBlockNames {
  const char *query, *key, *value, *output, *attention_norm, *fc1, *fc2, *output_norm;
};
struct EncoderBlockOptions {
  int64_t size = 0, heads = 1, inner = 0;
  std::string activation = "gelu";
  double epsilon = 1e-12;
  bool norm_first = false;  // before attention and before the MLP; else behind each
  bool qkv_bias = true;
};

/// The hidden states of another model that a layer reads, and the mask that is added to the scores of
/// attention to them.
struct Memory {
  TensorRef states, mask;
};

class EncoderBlock : public Module {
 public:
  /// Throws bad_argument for an activation that is not known.
  EncoderBlock(const EncoderBlockOptions& o, const EncoderBlockNames& names);
  void fields(Fields& f) override;
  /// x is [batch, length, size]. `mask` is added to the scores; without it, all tokens are visible. `memory`
  /// is passed to between().
  TensorRef operator()(const TensorRef& x, const TensorRef& mask = {}, const Memory& memory = {}) const;
  Linear query, key, value, output, fc1, fc2;
  LayerNorm attention_norm, output_norm;

 protected:
  /// Returns the bias that queries and keys [batch, heads, length, size] add to their scores, of the scores'
  /// shape: nothing unless overridden.
  virtual TensorRef bias(const Ops& o, const TensorRef& q, const TensorRef& k) const;
  /// Computes what comes between attention and MLP from x [batch, length, size]: nothing unless overridden.
  virtual TensorRef between(const TensorRef& x, const Memory& memory) const;

 private:
  TensorRef attended(const Ops& o, const TensorRef& x, const TensorRef& mask) const;
  TensorRef mlp(const Ops& o, const TensorRef& x) const;
  EncoderBlockNames names_;
  int64_t heads_;
  std::string activation_;
  bool norm_first_;
};

}  // namespace lathe::nn
