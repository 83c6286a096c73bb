// RoBERTa (Liu et al. 2019) and XLM-RoBERTa (Conneau et al. 2019): BERT with other positions and heads.
#include "nn/models/bert.h"

namespace lathe::nn {
namespace {

class Roberta final : public TextEncoder {
 public:
  Roberta(const ModelConfig& c, std::string_view task) : TextEncoder(task) {
    const BertSizes s(c);
    body_ = BertEncoder(s, c.get<int64_t>("pad_token_id", 1), this->task == "multiple-choice");
    if (this->task == "fill-mask") {
      head_.emplace(s.hidden, s.vocabulary, s.epsilon, "gelu",
                    MaskedHead::Names{"dense", "layer_norm", "decoder", "bias"});
      if (s.tied) head_->decoder.weight = body_.words.weight;
    } else if (this->task == "question-answering") {
      answers_.emplace(s.hidden, 2);
    } else if (this->task == "text-classification") {
      first_.emplace(s.hidden, label_count(c));
    } else if (this->task != "feature-extraction") {
      classifier_.emplace(s.hidden, this->task == "multiple-choice" ? 1 : label_count(c));
    }
  }
  void fields(Fields& f) override {
    f(body_name("roberta"), body_), f("lm_head", head_);
    f("classifier", first_), f("classifier", classifier_), f("qa_outputs", answers_);
  }
  std::string base_prefix() const override { return "roberta."; }

 protected:
  TensorRef encode(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const override {
    return body_(ids, mask, types);
  }
  TensorRef fill_mask(const TensorRef& hidden) const override { return (*head_)(hidden); }
  TensorRef classify(const TensorRef& hidden) const override {
    return first_ ? (*first_)(hidden) : (*classifier_)((*body_.pooler)(hidden));
  }
  TensorRef classify_tokens(const TensorRef& hidden) const override {
    return answers_ ? (*answers_)(hidden) : (*classifier_)(hidden);
  }

 private:
  BertEncoder body_;
  std::optional<MaskedHead> head_;
  std::optional<FirstTokenHead> first_;
  std::optional<Linear> classifier_, answers_;
};

}  // namespace

void register_roberta(ModelRegistry& all) {
  for (const char* type : {"roberta", "xlm-roberta"})
    all.add(type, text_encoder_tasks,
            [](const ModelConfig& c, std::string_view task) { return std::make_unique<Roberta>(c, task); });
}

}  // namespace lathe::nn
