#include "nn/decoder_model.h"

#include "nn/sizes.h"

namespace lathe::nn {

namespace {

std::string cache_name(const char* what, size_t layer, const std::string& part, const char* kind) {
  return what + std::string(".") + std::to_string(layer) + (part.empty() ? "" : "." + part) + "." + kind;
}

}  // namespace

KeyValues past_of(const Inputs& inputs, size_t layer, const std::string& part) {
  return {inputs.find(cache_name("past_key_values", layer, part, "key")),
          inputs.find(cache_name("past_key_values", layer, part, "value"))};
}

void set_present(Outputs& outputs, size_t layer, const KeyValues& present, const std::string& part) {
  outputs.set(cache_name("present", layer, part, "key"), present.key);
  outputs.set(cache_name("present", layer, part, "value"), present.value);
}

TensorRef positions_behind(const Ops& o, const TensorRef& ids, const KeyValues& past) {
  TensorRef positions = o.range(o.size(ids, 1));
  if (past) positions = o.add(positions, o.size(past.key, 2));
  return o.unsqueeze(positions, {0});
}

TensorRef last_token(const Ops& o, const TensorRef& x, const TensorRef& ids, std::optional<int64_t> padding) {
  if (!padding) return o.select(x, 1, -1);
  // The last token that is not padding, wherever the padding is.
  const TensorRef counts =
      o.cast(o.op("Not", {o.equal(ids, static_cast<double>(*padding))}), DataType::int64);
  const TensorRef last = o.op("ArgMax", {o.mul(o.range(o.size(ids, 1)), counts)},
                              {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
  return o.op("GatherND", {x, last}, {{"batch_dims", int64_t{1}}});
}

DecoderModel::DecoderModel(std::shared_ptr<DecoderBody> body, const ModelConfig& config,
                           std::string_view task, DecoderNames names)
    : body_(std::move(body)), task_(task), names_(std::move(names)) {
  if (config.has("pad_token_id")) padding_ = config.get<int64_t>("pad_token_id");
  if (task == "text-generation") {
    head_.emplace(body_->size(), config.get<int64_t>("vocab_size"), LinearOptions{.bias = false});
    if (config.get<bool>("tie_word_embeddings", names_.tied)) head_->weight = body_->embedding();
  } else if (task == "text-classification") {
    head_.emplace(body_->size(), label_count(config), LinearOptions{.bias = false});
  } else if (task == "token-classification") {
    head_.emplace(body_->size(), label_count(config));
  }
}

void DecoderModel::fields(Fields& f) {
  f(names_.body, body_);
  f(task_ == "text-generation"        ? "lm_head"
    : task_ == "token-classification" ? names_.tokens
                                      : "score",
    head_);
}

Outputs DecoderModel::forward(Network&, const Inputs& inputs) const {
  Outputs present, outputs;
  const TensorRef x = (*body_)(inputs, present);
  if (!head_) {
    outputs.set("last_hidden_state", x);
  } else if (task_ == "text-classification") {
    // The row is selected first, so that the head is a product of one row for each text.
    outputs.set("logits", (*head_)(last_token(Ops(*this, x), x, inputs.at("input_ids"), padding_)));
  } else {
    outputs.set("logits", (*head_)(x));
  }
  for (const auto& [name, t] : present) outputs.set(name, t);
  return outputs;
}

}  // namespace lathe::nn
