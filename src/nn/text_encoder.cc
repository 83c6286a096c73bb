#include "nn/models/text_encoder.h"

namespace lathe::nn {

int64_t label_count(const ModelConfig& config) {
  if (config.has("id2label")) return static_cast<int64_t>(config.get<ModelConfig>("id2label").keys().size());
  return config.get<int64_t>("num_labels", 2);
}

TensorRef positions_without_padding(const Ops& o, const TensorRef& ids, int64_t padding) {
  const TensorRef counts = o.cast(o.op("Not", {o.equal(ids, static_cast<double>(padding))}), DataType::int64);
  const TensorRef running = o.op("CumSum", {counts, o.integer(1)});
  return o.add(o.mul(running, counts), static_cast<double>(padding));
}

TensorRef Pooler::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return o.op("Tanh", {dense(o.select(hidden, 1, 0))});
}

Outputs TextEncoder::forward(Network&, const Inputs& inputs) const {
  TensorRef ids = inputs.at("input_ids"), mask = inputs.find("attention_mask"),
            types = inputs.find("token_type_ids");
  const Ops o(*this, ids);
  const TensorRef given = ids;
  if (task == "multiple-choice")
    for (TensorRef* t : {&ids, &mask, &types})
      if (*t) *t = o.reshape(*t, o.concat({o.ints({-1}), o.size(*t, 2)}, 0));
  const TensorRef hidden = encode(ids, mask, types);
  if (task == "feature-extraction") return {{"last_hidden_state", hidden}};
  if (task == "fill-mask") return {{"logits", fill_mask(hidden)}};
  if (task == "token-classification") return {{"logits", classify_tokens(hidden)}};
  if (task == "question-answering") {
    const std::vector<TensorRef> ends = o.split(classify_tokens(hidden), {1, 1}, -1);
    return {{"start_logits", o.squeeze(ends[0], {-1})}, {"end_logits", o.squeeze(ends[1], {-1})}};
  }
  const TensorRef logits = classify(hidden);
  if (task != "multiple-choice") return {{"logits", logits}};
  return {{"logits", o.reshape(logits, o.concat({o.ints({-1}), o.size(given, 1)}, 0))}};
}

}  // namespace lathe::nn
