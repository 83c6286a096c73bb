// MPNet (Song et al. 2020): BERT with biases by distance, which all layers share, and RoBERTa's heads.
#include "nn/models/bert.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

constexpr EncoderBlockNames mpnet_names{"attention.attn.q", "attention.attn.k",    "attention.attn.v",
                                        "attention.attn.o", "attention.LayerNorm", "intermediate.dense",
                                        "output.dense",     "output.LayerNorm"};

class MpNetBody : public TextEncoderBody {
 public:
  explicit MpNetBody(const ModelConfig& c) : MpNetBody(c, BertSizes(c)) {}
  void fields(Fields& f) override {
    f("embeddings.word_embeddings", word_embeddings),
        f("embeddings.position_embeddings", position_embeddings);
    f("embeddings.LayerNorm", norm), f("encoder.layer", layers);
    f("encoder.relative_attention_bias", distances), f("pooler", pooler);
  }
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask, const TensorRef&) const override {
    const Ops o(*this, ids);
    const TensorRef length = o.size(ids, 1);
    constexpr int64_t padding = 1;  // of the architecture, whatever pad_token_id says
    TensorRef x =
        norm(o.add(word_embeddings(ids), position_embeddings(positions_without_padding(o, ids, padding))));
    TensorRef bias = relative_bias(o, o.use(distances.weight), length, length);
    if (const TensorRef hidden_keys = attention_mask(o, mask, length, length, x.element_type()))
      bias = o.add(bias, hidden_keys);
    for (const EncoderBlock& layer : layers) x = layer(x, bias);
    return x;
  }
  Parameter embedding() const override { return word_embeddings.weight; }
  int64_t size() const override { return size_; }
  Embedding word_embeddings, position_embeddings;
  LayerNorm norm;
  Embedding distances;
  ModuleList<EncoderBlock> layers;

 private:
  MpNetBody(const ModelConfig& c, const BertSizes& s)
      : word_embeddings(s.vocabulary, s.layer.size),
        position_embeddings(s.positions, s.layer.size),
        norm(s.layer.size, {.epsilon = s.layer.epsilon}),
        distances(c.get<int64_t>("relative_attention_num_buckets", 32), s.layer.heads),
        layers(s.layers, [&](int64_t) { return EncoderBlock(s.layer, mpnet_names); }),
        size_(s.layer.size) {
    // Distances fall into 32 buckets, however many rows the table has.
    const RelativeBiasOptions published;
    if (const int64_t rows = c.get<int64_t>("relative_attention_num_buckets", published.buckets);
        rows < published.buckets)
      throw unsupported_config("mpnet", "a row for each of " + std::to_string(published.buckets) + " buckets",
                               "relative_attention_num_buckets", std::to_string(rows));
  }
  int64_t size_;
};

}  // namespace

void register_mpnet(ModelRegistry& all) {
  all.add("mpnet", text_encoder_tasks, [](const ModelConfig& c, std::string_view task) {
    return std::make_unique<TextEncoder>(std::make_shared<MpNetBody>(c), c, task, roberta_names("mpnet", c));
  });
}

}  // namespace lathe::nn
