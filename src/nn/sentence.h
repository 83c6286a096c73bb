// Sentence encoders (Reimers, Gurevych 2019): an encoder of tokens, and how one vector is made of many.
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

/// "input_ids", "attention_mask" [batch, length] → "token_embeddings" [batch, length, size],
/// "sentence_embedding" [batch, size'].
class SentenceTransformer : public Model {
 public:
  /// `modules`: those behind the encoder, in order: Pooling, Dense, Normalize. `encoder` gives
  /// "last_hidden_state". Throws not_supported for another sort, bad_argument where none pools.
  SentenceTransformer(std::unique_ptr<Model> encoder, const std::vector<SentenceModule>& modules);
  ~SentenceTransformer() override;
  void fields(Fields& f) override;
  std::string base_prefix() const override { return encoder_->base_prefix(); }
  Outputs forward(Network& network, const Inputs& inputs) const override;

  /// What has weights, each by the folder in which its checkpoint lies: the encoder in that of the whole, "".
  Model& encoder() { return *encoder_; }
  std::vector<std::pair<std::string, Module*>> others();

  /// Makes the next vector of the last one, or of the tokens.
  struct Step;

 private:
  std::unique_ptr<Model> encoder_;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace lathe::nn
