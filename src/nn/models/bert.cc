// BERT with its heads.
#include "nn/models/bert.h"

#include <cmath>

#include "nn/access.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

constexpr EncoderBlockNames block_names{
    "attention.self.query",       "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense",         "output.LayerNorm"};

Positions positions_of(const ModelConfig& c) {
  const auto type = c.get<std::string>("position_embedding_type", "absolute");
  if (type == "absolute") return Positions::absolute;
  if (type == "relative_key") return Positions::relative_key;
  if (type == "relative_key_query") return Positions::relative_key_query;
  const std::vector<std::string> known{"absolute", "relative_key", "relative_key_query"};
  throw detail::fault(Code::bad_argument, "position_embedding_type", "one of " + detail::listed(known),
                      "'" + type + "'", detail::near(type, known));
}

}  // namespace

BertSizes::BertSizes(const ModelConfig& c)
    : layer{.size = c.get<int64_t>("hidden_size"),
            .heads = c.get<int64_t>("num_attention_heads"),
            .inner = c.get<int64_t>("intermediate_size"),
            .activation = activation_in(c, "hidden_act", "gelu"),
            .epsilon = c.get<double>("layer_norm_eps", 1e-12)},
      vocabulary(c.get<int64_t>("vocab_size")),
      layers(c.get<int64_t>("num_hidden_layers")),
      positions(c.get<int64_t>("max_position_embeddings")),
      types(c.get<int64_t>("type_vocab_size", 2)) {}

BertLayer::BertLayer(const BertSizes& s, Positions positions, bool cross)
    : EncoderBlock(s.layer, block_names), positions_(positions), longest_(s.positions) {
  if (positions != Positions::absolute)
    distances = Parameter(DataType::float32, {2 * s.positions - 1, s.layer.size / s.layer.heads});
  if (!cross) return;
  const CachedAttentionOptions names{.names = {"self.query", "self.key", "self.value", "output.dense"}};
  crossattention.emplace(s.layer.size, s.layer.heads, names);
  cross_norm.emplace(s.layer.size, LayerNormOptions{.epsilon = s.layer.epsilon});
}

void BertLayer::fields(Fields& f) {
  EncoderBlock::fields(f);
  f("attention.self.distance_embedding.weight", distances);
  f("crossattention", crossattention), f("crossattention.output.LayerNorm", cross_norm);
}

TensorRef BertLayer::between(const TensorRef& x, const Memory& memory) const {
  if (!crossattention || !memory.states) return x;
  const Ops o(*this, x);
  KeyValues made;
  return (*cross_norm)(o.add(crossattention->across(x, memory.states, memory.mask, made), x));
}

/// Returns [batch, heads, length, length]: products of queries, and of keys too, with the embedding of each
/// distance.
TensorRef BertLayer::bias(const Ops& o, const TensorRef& q, const TensorRef& k) const {
  if (!distances) return {};
  const TensorRef at = o.range(o.size(q, 2));
  const TensorRef distance =
      o.add(o.sub(o.unsqueeze(at, {1}), at), static_cast<double>(longest_ - 1));  // [length, length]
  const TensorRef rows = o.gather(o.use(distances), distance);
  TensorRef scores = o.op("Einsum", {q, rows}, {{"equation", std::string("bhld,lrd->bhlr")}});
  if (positions_ == Positions::relative_key_query)
    scores = o.add(scores, o.op("Einsum", {k, rows}, {{"equation", std::string("bhrd,lrd->bhlr")}}));
  return o.mul(scores, 1 / std::sqrt(static_cast<double>(rows.shape().back().constant())));
}

BertBody::BertBody(const ModelConfig& c, std::optional<int64_t> padding, bool cross)
    : positions_(positions_of(c)), padding_(padding) {
  const BertSizes s(c);
  size_ = s.layer.size;
  causal_ = c.get<bool>("is_decoder", false);
  if (!causal_ && c.get<bool>("add_cross_attention", false))
    throw unsupported_config("bert", "cross attention in decoders only", "add_cross_attention", "true",
                             "say 'is_decoder' true");
  word_embeddings = Embedding(s.vocabulary, size_);
  position_embeddings = Embedding(s.positions, size_);
  types = Embedding(s.types, size_);
  norm = LayerNorm(size_, {.epsilon = s.layer.epsilon});
  layers = ModuleList<BertLayer>(s.layers, [&](int64_t) { return BertLayer(s, positions_, cross); });
}

void BertBody::fields(Fields& f) {
  f("embeddings.word_embeddings", word_embeddings);
  if (positions_ == Positions::absolute) f("embeddings.position_embeddings", position_embeddings);
  f("embeddings.token_type_embeddings", types), f("embeddings.LayerNorm", norm);
  f("encoder.layer", layers), f("pooler", pooler);
}

TensorRef BertBody::operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef& given_types,
                               const TensorRef& encoded) const {
  const Ops o(*this, ids);
  const TensorRef length = o.size(ids, 1);
  TensorRef x = word_embeddings(ids);
  // Without token types all are of type 0.
  x = o.add(x, types(given_types ? given_types : o.ints({0})));
  if (positions_ == Positions::absolute)
    x = o.add(x,
              position_embeddings(padding_ ? positions_without_padding(o, ids, *padding_) : o.range(length)));
  x = norm(x);
  const TensorRef hidden_keys =
      attention_mask(o, mask, length, length, x.element_type(), {.causal = causal_});
  for (const BertLayer& layer : layers) x = layer(x, hidden_keys, {encoded, {}});
  return x;
}

namespace {

const ModelConfig& decoding(const ModelConfig& c) {
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (!c.get<bool>(key, false))
      throw unsupported_config("config.json", "a decoder that reads what the encoder gave",
                               "decoder." + std::string(key), "false",
                               "say true, where the checkpoint has the weights of cross attention");
  return c;
}

std::optional<int64_t> padding_of(const ModelConfig& c) {
  if (c.get<std::string>("model_type") == "bert") return {};
  return c.get<int64_t>("pad_token_id", 1);
}

}  // namespace

BertDecoder::BertDecoder(const ModelConfig& c) : body_(decoding(c), padding_of(c), true) {}

TensorRef BertDecoder::operator()(const Inputs& inputs, Outputs&) const {
  return body_(inputs.at("input_ids"), inputs.find("attention_mask"), {},
               inputs.find("encoder_hidden_states"));
}

TextEncoderNames bert_names(const ModelConfig& c) {
  return {.body = "bert",
          .masked_path = "cls.predictions",
          .masked = {"transform.dense", "transform.LayerNorm", "decoder", "bias"},
          .masked_activation = activation_in(c, "hidden_act", "gelu"),
          .masked_epsilon = c.get<double>("layer_norm_eps", 1e-12),
          .first_path = {}};
}

TextEncoderNames roberta_names(const std::string& body, const ModelConfig& config) {
  return {.body = body,
          .masked_path = "lm_head",
          .masked = {"dense", "layer_norm", "decoder", "bias"},
          .masked_activation = "gelu",
          .masked_epsilon = config.get<double>("layer_norm_eps", 1e-12),
          .first_path = "classifier",
          .first = FirstTokenHeadNames{"dense", "out_proj", "tanh"}};
}

void add_roberta(ModelRegistry& all, const std::string& type) {
  all.add(type, text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<TextEncoder>(std::make_shared<BertBody>(c, c.get<int64_t>("pad_token_id", 1)), c,
                                         task, roberta_names("roberta", c));
  });
}

void register_bert(ModelRegistry& all) {
  all.add("bert", text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<TextEncoder>(std::make_shared<BertBody>(c), c, task, bert_names(c));
  });
}

}  // namespace lathe::nn
