// Parts that encoders of text share: the tokens' positions, the heads of their tasks, and the model that a
// body makes together with one of these.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lathe/nn.h"
#include "nn/encoder_block.h"

namespace lathe::nn {

/// The tasks, by Optimum's names.
inline const std::vector<std::string> text_encoder_tasks{"feature-extraction",  "fill-mask",
                                                         "text-classification", "token-classification",
                                                         "question-answering",  "multiple-choice"};

/// Positions of tokens as RoBERTa counts them: from `padding` + 1 on, skipping padding. int64 [batch,
/// length].
TensorRef positions_without_padding(const Ops& o, const TensorRef& ids, int64_t padding);

/// Computes tanh(dense(x of the first token)).
struct Pooler : Module {
  explicit Pooler(int64_t size) : dense(size, size) {}
  void fields(Fields& f) override { f("dense", dense); }
  /// hidden [batch, length, size] → [batch, size].
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense;
};

/// The layers over tokens, without a head.
class TextEncoderBody : public Module {
 public:
  /// All are int64 [batch, length]; the result is [batch, length, size]. mask, types: none if the input is
  /// left out.
  virtual TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const = 0;
  virtual Parameter embedding() const = 0;
  virtual int64_t size() const = 0;
  /// Only heads that read the pooled token set this.
  std::optional<Pooler> pooler;
};

/// dense, activation, norm, and the product with the vocabulary. Paths of the parts below that of the head;
/// `bias`: a second path of the product's bias, or null.
struct MaskedHeadNames {
  const char *dense, *norm, *decoder, *bias;
};
struct MaskedHead : Module {
  MaskedHead(int64_t size, int64_t vocabulary, double epsilon, std::string activation,
             const MaskedHeadNames& names);
  void fields(Fields& f) override;
  /// [batch, length, size] → [batch, length, vocabulary].
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense, decoder;
  LayerNorm norm;

 private:
  std::string activation_;
  MaskedHeadNames names_;
};

/// dense, activation, and the product with the labels, of the first token.
struct FirstTokenHeadNames {
  const char *dense, *out, *activation;
};
struct FirstTokenHead : Module {
  FirstTokenHead(int64_t size, int64_t labels, const FirstTokenHeadNames& names)
      : dense(size, size), out(size, labels), names_(names) {}
  void fields(Fields& f) override { f(names_.dense, dense), f(names_.out, out); }
  /// [batch, length, size] → [batch, labels].
  TensorRef operator()(const TensorRef& hidden) const;
  Linear dense, out;

 private:
  FirstTokenHeadNames names_;
};

/// The names of a family's parts, and which of them it has.
struct TextEncoderNames {
  std::string body;  // the base's path where there is a head
  std::string masked_path;
  MaskedHeadNames masked;
  std::string masked_activation;
  double masked_epsilon = 1e-12;
  std::string first_path;
  /// The head of text-classification; without it the labels are computed from the pooled output of the body.
  std::optional<FirstTokenHeadNames> first = {};
  bool first_chooses = false;  // it is that of multiple-choice too
  /// Returns whether the task's head reads the pooled first token of the body.
  bool pools(std::string_view task) const;
};

/// A body with the head of a task. Inputs "input_ids", "attention_mask", for some "token_type_ids", all
/// int64 [batch, length] ([batch, choices, length] for multiple choice); outputs "last_hidden_state",
/// "logits" or "start_logits" and "end_logits".
class TextEncoder final : public Model {
 public:
  TextEncoder(std::shared_ptr<TextEncoderBody> body, const ModelConfig& config, std::string_view task,
              TextEncoderNames names);
  void fields(Fields& f) override;
  std::string base_prefix() const override { return names_.body + "."; }
  Outputs forward(Network& network, const Inputs& inputs) const override;

 private:
  /// [batch, length, size] → [batch, labels].
  TensorRef classify(const TensorRef& hidden) const;
  std::shared_ptr<TextEncoderBody> body_;
  std::string task_;
  TextEncoderNames names_;
  std::optional<MaskedHead> masked_;
  std::optional<FirstTokenHead> first_;
  std::optional<Linear> labels_, ends_;
};

}  // namespace lathe::nn
