// Sentence encoders (Reimers, Gurevych 2019): an encoder of tokens, and modules that make one vector of many.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lathe/nn.h"

namespace lathe::nn {

/// An entry of modules.json, with the config.json of its folder.
struct SentenceModule {
  std::string type;  // "sentence_transformers.models.Pooling"
  std::string path;  // its folder: "1_Pooling"; empty: that of the checkpoint
  ModelConfig config;
};

/// An encoder, and modules behind it that make a vector of its output.
class SentenceModel : public Model {
 public:
  /// Throws not_supported for a module of another sort than Pooling, Dense, LayerNorm, Dropout, Normalize.
  SentenceModel(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules);
  ~SentenceModel() override;
  void fields(Fields& f) override;
  std::string base_prefix() const override { return encoder_->base_prefix(); }

  /// The modules that have weights: the encoder, whose checkpoint is in its own folder, and the others, each
  /// with the folder of its checkpoint.
  Model& encoder() { return *encoder_; }
  std::vector<std::pair<std::string, Module*>> others();

  /// Computes the next vector from the last one, or from the tokens.
  struct Step;

 protected:
  const Model& encoder() const { return *encoder_; }
  const std::vector<std::unique_ptr<Step>>& steps() const { return steps_; }

 private:
  std::unique_ptr<Model> encoder_;
  std::vector<std::unique_ptr<Step>> steps_;
};

/// "input_ids", "attention_mask" [batch, length] → "token_embeddings" [batch, length, size],
/// "sentence_embedding" [batch, size'].
class SentenceTransformer : public SentenceModel {
 public:
  /// `encoder` gives "last_hidden_state". Throws bad_argument where the first module does not pool.
  SentenceTransformer(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules);
  Outputs forward(Network& network, const Inputs& inputs) const override;
};

/// "input_ids", "attention_mask" [texts, length], "pixel_values" [images, channels, height, width] →
/// "text_embeds" [texts, size], "image_embeds" [images, size], each through all modules.
class SentenceClip : public SentenceModel {
 public:
  /// `encoder` gives both. Throws bad_argument for a module that pools: there are no tokens.
  SentenceClip(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules);
  Outputs forward(Network& network, const Inputs& inputs) const override;
};

}  // namespace lathe::nn
