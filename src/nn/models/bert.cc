#include "nn/models/bert.h"

#include <cmath>

#include "nn/access.h"

namespace lathe::nn {
namespace {

Positions positions_of(const std::string& type) {
  if (type == "absolute") return Positions::absolute;
  if (type == "relative_key") return Positions::relative_key;
  if (type == "relative_key_query") return Positions::relative_key_query;
  const std::vector<std::string> known{"absolute", "relative_key", "relative_key_query"};
  throw detail::fault(Code::bad_argument, "position_embedding_type", "one of " + detail::listed(known),
                      "'" + type + "'", detail::near(type, known));
}

}  // namespace

BertSizes::BertSizes(const ModelConfig& c)
    : vocabulary(c.get<int64_t>("vocab_size")),
      hidden(c.get<int64_t>("hidden_size")),
      layers(c.get<int64_t>("num_hidden_layers")),
      heads(c.get<int64_t>("num_attention_heads")),
      inner(c.get<int64_t>("intermediate_size")),
      positions(c.get<int64_t>("max_position_embeddings")),
      types(c.get<int64_t>("type_vocab_size", 2)),
      activation(c.get<std::string>("hidden_act", "gelu")),
      position_type(c.get<std::string>("position_embedding_type", "absolute")),
      epsilon(c.get<double>("layer_norm_eps", 1e-12)),
      tied(c.get<bool>("tie_word_embeddings", true)) {}

BertLayer::BertLayer(const BertSizes& s, Positions positions)
    : query(s.hidden, s.hidden),
      key(s.hidden, s.hidden),
      value(s.hidden, s.hidden),
      attention_dense(s.hidden, s.hidden),
      intermediate_dense(s.hidden, s.inner),
      output_dense(s.inner, s.hidden),
      attention_norm(s.hidden, {.epsilon = s.epsilon}),
      output_norm(s.hidden, {.epsilon = s.epsilon}),
      positions_(positions),
      heads_(s.heads),
      longest_(s.positions),
      activation_(Activation(s.activation).name()) {
  if (positions != Positions::absolute)
    distances = Parameter(DataType::float32, {2 * s.positions - 1, s.hidden / s.heads});
}

void BertLayer::fields(Fields& f) {
  f("attention.self.query", query), f("attention.self.key", key), f("attention.self.value", value);
  f("attention.self.distance_embedding.weight", distances);
  f("attention.output.dense", attention_dense), f("attention.output.LayerNorm", attention_norm);
  f("intermediate.dense", intermediate_dense);
  f("output.dense", output_dense), f("output.LayerNorm", output_norm);
}

/// [batch, heads, length, length]: products of queries, and of keys too, with the embedding of each distance.
TensorRef BertLayer::distance_scores(const Ops& o, const TensorRef& q, const TensorRef& k) const {
  const TensorRef at = o.range(o.size(q, 2));
  const TensorRef distance =
      o.add(o.sub(o.unsqueeze(at, {1}), at), static_cast<double>(longest_ - 1));  // [length, length]
  const TensorRef rows = o.gather(o.use(distances), distance);
  TensorRef scores = o.op("Einsum", {q, rows}, {{"equation", std::string("bhld,lrd->bhlr")}});
  if (positions_ == Positions::relative_key_query)
    scores = o.add(scores, o.op("Einsum", {k, rows}, {{"equation", std::string("bhrd,lrd->bhlr")}}));
  return o.mul(scores, 1 / std::sqrt(static_cast<double>(rows.shape().back().constant())));
}

TensorRef BertLayer::operator()(const TensorRef& x, const TensorRef& mask) const {
  const Ops o(*this, x);
  const TensorRef q = split_heads(o, query(x), heads_), k = split_heads(o, key(x), heads_),
                  v = split_heads(o, value(x), heads_);
  AttendOptions a{.mask = mask};
  if (distances) {
    const TensorRef scores = distance_scores(o, q, k);
    a.mask = mask ? o.add(scores, mask) : scores;
  }
  const TensorRef attended = attention_dense(merge_heads(o, attend(o, q, k, v, a)));
  const TensorRef y = attention_norm(o.add(attended, x));
  return output_norm(o.add(output_dense(activate(o, activation_, intermediate_dense(y))), y));
}

BertEncoder::BertEncoder(const BertSizes& s, std::optional<int64_t> padding, bool pooled)
    : words(s.vocabulary, s.hidden),
      places(s.positions, s.hidden),
      types(s.types, s.hidden),
      norm(s.hidden, {.epsilon = s.epsilon}),
      positions_(positions_of(s.position_type)),
      padding_(padding) {
  layers = ModuleList<BertLayer>(s.layers, [&](int64_t) { return BertLayer(s, positions_); });
  if (pooled) pooler.emplace(s.hidden);
}

void BertEncoder::fields(Fields& f) {
  f("embeddings.word_embeddings", words);
  if (positions_ == Positions::absolute) f("embeddings.position_embeddings", places);
  f("embeddings.token_type_embeddings", types), f("embeddings.LayerNorm", norm);
  f("encoder.layer", layers), f("pooler", pooler);
}

TensorRef BertEncoder::operator()(const TensorRef& ids, const TensorRef& mask,
                                  const TensorRef& given_types) const {
  const Ops o(*this, ids);
  const TensorRef length = o.size(ids, 1);
  TensorRef x = words(ids);
  // All of type 0 where nobody says otherwise.
  x = o.add(x, types(given_types ? given_types : o.ints({0})));
  if (positions_ == Positions::absolute)
    x = o.add(x, places(padding_ ? positions_without_padding(o, ids, *padding_) : o.range(length)));
  x = norm(x);
  const TensorRef hidden_keys = attention_mask(o, mask, length, length, x.element_type());
  for (const BertLayer& layer : layers) x = layer(x, hidden_keys);
  return x;
}

MaskedHead::MaskedHead(int64_t hidden, int64_t vocabulary, double epsilon, std::string activation,
                       const Names& names)
    : dense(hidden, hidden),
      decoder(hidden, vocabulary),
      norm(hidden, {.epsilon = epsilon}),
      activation_(std::move(activation)),
      names_(names) {}

void MaskedHead::fields(Fields& f) {
  // The decoder's bias is kept beside it too; the two are one.
  f(names_.bias, decoder.bias);
  f(names_.dense, dense), f(names_.norm, norm), f(names_.decoder, decoder);
}

TensorRef MaskedHead::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return decoder(norm(activate(o, activation_, dense(hidden))));
}

TensorRef FirstTokenHead::operator()(const TensorRef& hidden) const {
  const Ops o(*this, hidden);
  return out_proj(o.op("Tanh", {dense(o.select(hidden, 1, 0))}));
}

namespace {

class Bert final : public TextEncoder {
 public:
  Bert(const ModelConfig& c, std::string_view task) : TextEncoder(task) {
    const BertSizes s(c);
    body_ =
        BertEncoder(s, std::nullopt, this->task == "text-classification" || this->task == "multiple-choice");
    if (this->task == "fill-mask") {
      head_.emplace(s.hidden, s.vocabulary, s.epsilon, s.activation,
                    MaskedHead::Names{"transform.dense", "transform.LayerNorm", "decoder", "bias"});
      if (s.tied) head_->decoder.weight = body_.words.weight;
    } else if (this->task == "question-answering") {
      answers_.emplace(s.hidden, 2);
    } else if (this->task != "feature-extraction") {
      classifier_.emplace(s.hidden, this->task == "multiple-choice" ? 1 : label_count(c));
    }
  }
  void fields(Fields& f) override {
    f(body_name("bert"), body_), f("cls.predictions", head_);
    f("classifier", classifier_), f("qa_outputs", answers_);
  }
  std::string base_prefix() const override { return "bert."; }

 protected:
  TensorRef encode(const TensorRef& ids, const TensorRef& mask, const TensorRef& types) const override {
    return body_(ids, mask, types);
  }
  TensorRef fill_mask(const TensorRef& hidden) const override { return (*head_)(hidden); }
  TensorRef classify(const TensorRef& hidden) const override {
    return (*classifier_)((*body_.pooler)(hidden));
  }
  TensorRef classify_tokens(const TensorRef& hidden) const override {
    return answers_ ? (*answers_)(hidden) : (*classifier_)(hidden);
  }

 private:
  BertEncoder body_;
  std::optional<MaskedHead> head_;
  std::optional<Linear> classifier_, answers_;
};

}  // namespace

void register_bert(ModelRegistry& all) {
  all.add("bert", text_encoder_tasks,
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<Bert>(c, task); });
}

}  // namespace lathe::nn
