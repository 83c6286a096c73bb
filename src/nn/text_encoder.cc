#include "nn/text_encoder.h"

#include "nn/sizes.h"

namespace lathe::nn {

TensorRef positions_without_padding(const Ops& o, const TensorRef& ids, int64_t padding) {
  const TensorRef counts = o.cast(o.op("Not", {o.equal(ids, static_cast<double>(padding))}), DataType::int64);
  const TensorRef running = o.op("CumSum", {counts, o.integer(1)});
  return o.add(o.mul(running, counts), static_cast<double>(padding));
}

TensorRef Pooler::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return o.op("Tanh", {dense(o.select(hidden, 1, 0))});
}

MaskedHead::MaskedHead(int64_t size, int64_t vocabulary, double epsilon, std::string activation,
                       const MaskedHeadNames& names)
    : dense(size, size),
      decoder(size, vocabulary),
      norm(size, {.epsilon = epsilon}),
      activation_(std::move(activation)),
      names_(names) {}

void MaskedHead::fields(Fields& f) {
  f(names_.dense, dense), f(names_.norm, norm), f(names_.decoder, decoder);
  // The bias has a second name. If a checkpoint has both, the product's own bias is used.
  if (names_.bias) f(names_.bias, decoder.bias);
}

TensorRef MaskedHead::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return decoder(norm(activate(o, activation_, dense(hidden))));
}

TensorRef FirstTokenHead::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return out(activate(o, names_.activation, dense(o.select(hidden, 1, 0))));
}

bool TextEncoderNames::pools(std::string_view task) const {
  return (task == "text-classification" && !first) || (task == "multiple-choice" && !first_chooses);
}

TextEncoder::TextEncoder(std::shared_ptr<TextEncoderBody> body, const ModelConfig& config,
                         std::string_view task, TextEncoderNames names)
    : body_(std::move(body)), task_(task), names_(std::move(names)) {
  const int64_t size = body_->size();
  const bool chooses = task == "multiple-choice";
  if (names_.pools(task)) body_->pooler.emplace(size);
  if (task == "fill-mask") {
    masked_.emplace(size, config.get<int64_t>("vocab_size"), names_.masked_epsilon, names_.masked_activation,
                    names_.masked);
    if (config.get<bool>("tie_word_embeddings", true)) masked_->decoder.weight = body_->embedding();
  } else if (task == "question-answering") {
    ends_.emplace(size, 2);
  } else if (names_.first && (task == "text-classification" || (chooses && names_.first_chooses))) {
    first_.emplace(size, chooses ? 1 : label_count(config), *names_.first);
  } else if (task != "feature-extraction") {
    labels_.emplace(size, chooses ? 1 : label_count(config));
  }
}

void TextEncoder::fields(Fields& f) {
  f(task_ == "feature-extraction" ? "" : names_.body, body_);
  f(names_.masked_path, masked_), f(names_.first_path, first_);
  f("classifier", labels_), f("qa_outputs", ends_);
}

TensorRef TextEncoder::classify(const TensorRef& hidden) const {
  return first_ ? (*first_)(hidden) : (*labels_)((*body_->pooler)(hidden));
}

Outputs TextEncoder::forward(Network&, const Inputs& inputs) const {
  TensorRef ids = inputs.at("input_ids"), mask = inputs.find("attention_mask"),
            types = inputs.find("token_type_ids");
  const Ops o(*this, ids);
  const TensorRef given = ids;
  if (task_ == "multiple-choice")
    for (TensorRef* t : {&ids, &mask, &types})
      if (*t) *t = o.reshape(*t, o.concat({o.ints({-1}), o.size(*t, 2)}, 0));
  const TensorRef hidden = (*body_)(ids, mask, types);
  if (task_ == "feature-extraction") return {{"last_hidden_state", hidden}};
  if (task_ == "fill-mask") return {{"logits", (*masked_)(hidden)}};
  if (task_ == "token-classification") return {{"logits", (*labels_)(hidden)}};
  if (task_ == "question-answering") {
    const std::vector<TensorRef> ends = o.split((*ends_)(hidden), {1, 1}, -1);
    return {{"start_logits", o.squeeze(ends[0], {-1})}, {"end_logits", o.squeeze(ends[1], {-1})}};
  }
  const TensorRef logits = classify(hidden);
  if (task_ != "multiple-choice") return {{"logits", logits}};
  return {{"logits", o.reshape(logits, o.concat({o.ints({-1}), o.size(given, 1)}, 0))}};
}

}  // namespace lathe::nn
