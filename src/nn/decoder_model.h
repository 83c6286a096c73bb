// Parts that decoders of text share: the KV cache, positions, and the heads that read their hidden states.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lathe/nn.h"

namespace lathe::nn {

/// Returns "past_key_values.<layer>.key" and ".value"; with a part "past_key_values.<layer>.decoder.key".
/// None if the inputs have none.
KeyValues past_of(const Inputs& inputs, size_t layer, const std::string& part = {});
/// Sets "present.<layer>.key" and ".value", with a part as above.
void set_present(Outputs& outputs, size_t layer, const KeyValues& present, const std::string& part = {});
/// The positions of `ids` [batch, length] after the past: int64 [1, length].
TensorRef positions_behind(const Ops& o, const TensorRef& ids, const KeyValues& past);
/// Returns the row of x [batch, length, size] for the last token of `ids` that is not `padding`: [batch,
/// size]. Without `padding` the last row.
TensorRef last_token(const Ops& o, const TensorRef& x, const TensorRef& ids, std::optional<int64_t> padding);

/// A stack of layers over tokens, each seeing those before it.
class DecoderBody : public Module {
 public:
  /// Maps "input_ids", "attention_mask" [batch, past + length], "position_ids", "past_key_values.…" to hidden
  /// states [batch, length, size]; the new KV cache goes to `present`.
  virtual TensorRef operator()(const Inputs& inputs, Outputs& present) const = 0;
  virtual Parameter embedding() const = 0;
  virtual int64_t size() const = 0;
};

/// The names of an architecture's parts.
struct DecoderNames {
  std::string body = "model", tokens = "score";  // the head of token-classification
  bool tied = false;                             // tie_word_embeddings if config.json lacks it
};

/// A body with the head of a task: feature-extraction, text-generation, text-classification,
/// token-classification.
class DecoderModel : public Model {
 public:
  DecoderModel(std::shared_ptr<DecoderBody> body, const ModelConfig& config, std::string_view task,
               DecoderNames names = {});
  void fields(Fields& f) override;
  std::string base_prefix() const override { return names_.body + "."; }
  Outputs forward(Network& network, const Inputs& inputs) const override;

 private:
  std::shared_ptr<DecoderBody> body_;
  std::optional<Linear> head_;
  std::string task_;
  DecoderNames names_;
  std::optional<int64_t> padding_;
};

}  // namespace lathe::nn
