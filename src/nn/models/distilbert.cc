// DistilBERT (Sanh et al. 2019).
#include "nn/sizes.h"
#include "nn/text_encoder.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

constexpr EncoderBlockNames distilbert_names{"attention.q_lin",   "attention.k_lin",  "attention.v_lin",
                                             "attention.out_lin", "sa_layer_norm",    "ffn.lin1",
                                             "ffn.lin2",          "output_layer_norm"};

class DistilBertBody : public TextEncoderBody {
 public:
  explicit DistilBertBody(const ModelConfig& c) : DistilBertBody(c, sizes(c)) {}
  void fields(Fields& f) override {
    f("embeddings.word_embeddings", word_embeddings),
        f("embeddings.position_embeddings", position_embeddings);
    f("embeddings.LayerNorm", norm), f("transformer.layer", layers);
  }
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef&) const override {
    const Ops o(*this, ids);
    const TensorRef length = o.size(ids, 1);
    TensorRef x = norm(o.add(word_embeddings(ids), position_embeddings(o.range(length))));
    const TensorRef hidden_keys = attention_mask(o, mask, length, length, x.element_type());
    for (const EncoderBlock& layer : layers) x = layer(x, hidden_keys);
    return x;
  }
  Parameter embedding() const override { return word_embeddings.weight; }
  int64_t size() const override { return size_; }
  Embedding word_embeddings, position_embeddings;
  LayerNorm norm;
  ModuleList<EncoderBlock> layers;

 private:
  static EncoderBlockOptions sizes(const ModelConfig& c) {
    refuse_other_names(
        "distilbert", c,
        {{"hidden_size", "dim"}, {"num_attention_heads", "n_heads"}, {"num_hidden_layers", "n_layers"}});
    return {.size = c.get<int64_t>("dim"),
            .heads = c.get<int64_t>("n_heads"),
            .inner = c.get<int64_t>("hidden_dim"),
            .activation = activation_in(c, "activation", "gelu")};
  }
  DistilBertBody(const ModelConfig& c, const EncoderBlockOptions& o)
      : word_embeddings(c.get<int64_t>("vocab_size"), o.size),
        position_embeddings(c.get<int64_t>("max_position_embeddings"), o.size),
        norm(o.size, {.epsilon = o.epsilon}),
        layers(c.get<int64_t>("n_layers"), [&](int64_t) { return EncoderBlock(o, distilbert_names); }),
        size_(o.size) {}
  int64_t size_;
};

}  // namespace

void register_distilbert(ModelRegistry& all) {
  all.add("distilbert", text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<TextEncoder>(
        std::make_shared<DistilBertBody>(c), c, task,
        TextEncoderNames{.body = "distilbert",
                         .masked_path = {},
                         .masked = {"vocab_transform", "vocab_layer_norm", "vocab_projector", nullptr},
                         .masked_activation = activation_in(c, "activation", "gelu"),
                         .first_path = {},
                         .first = FirstTokenHeadNames{"pre_classifier", "classifier", "relu"},
                         .first_chooses = true});
  });
}

}  // namespace lathe::nn
