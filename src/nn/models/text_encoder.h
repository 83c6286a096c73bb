// What encoders of text have in common: the heads of their tasks, and how configurations say their sizes.
#pragma once

#include <string>
#include <string_view>

#include "nn/models.h"

namespace lathe::nn {

/// "fill-mask" and so on of Optimum's names.
inline const std::vector<std::string> text_encoder_tasks{"feature-extraction",  "fill-mask",
                                                         "text-classification", "token-classification",
                                                         "question-answering",  "multiple-choice"};

/// Labels of a classifier: those that id2label lists, else num_labels, else 2.
int64_t label_count(const ModelConfig& config);

/// Positions of tokens as RoBERTa counts them: from `padding` + 1 on, padding left out. int64 [batch,
/// length].
TensorRef positions_without_padding(const Ops& o, const TensorRef& ids, int64_t padding);

/// tanh(dense(x of the first token)).
struct Pooler : Module {
  Pooler() = default;
  explicit Pooler(int64_t size) : dense(size, size) {}
  void fields(Fields& f) override { f("dense", dense); }
  /// hidden [batch, length, size] → [batch, size].
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense;
};

/// An encoder with the head of a task. Inputs "input_ids", "attention_mask", for some "token_type_ids", all
/// int64 [batch, length] ([batch, choices, length] for multiple choice); outputs "last_hidden_state",
/// "logits" or "start_logits" and "end_logits".
class TextEncoder : public Model {
 public:
  Outputs forward(Network& network, const Inputs& inputs) const override;

 protected:
  explicit TextEncoder(std::string_view task) : task(task) {}
  /// [batch, length] → [batch, length, size]. mask, types: none where the input is left out.
  virtual TensorRef encode(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const = 0;
  /// [batch, length, size] → [batch, length, vocabulary].
  virtual TensorRef fill_mask(const TensorRef& hidden) const = 0;
  /// [batch, length, size] → [batch, labels].
  virtual TensorRef classify(const TensorRef& hidden) const = 0;
  /// [batch, length, size] → [batch, length, labels].
  virtual TensorRef classify_tokens(const TensorRef& hidden) const = 0;
  /// The base's paths begin with this where there is a head.
  std::string body_name(const char* name) const { return task == "feature-extraction" ? "" : name; }
  std::string task;
};

}  // namespace lathe::nn
