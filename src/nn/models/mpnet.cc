// MPNet (Song et al. 2020): BERT with biases by distance, which all layers share.
#include "nn/models/bert.h"

namespace lathe::nn {
namespace {

struct Layer : Module {
  explicit Layer(const BertSizes& s)
      : q(s.hidden, s.hidden),
        k(s.hidden, s.hidden),
        v(s.hidden, s.hidden),
        o_(s.hidden, s.hidden),
        intermediate_dense(s.hidden, s.inner),
        output_dense(s.inner, s.hidden),
        attention_norm(s.hidden, {.epsilon = s.epsilon}),
        output_norm(s.hidden, {.epsilon = s.epsilon}),
        heads_(s.heads),
        activation_(Activation(s.activation).name()) {}
  void fields(Fields& f) override {
    f("attention.attn.q", q), f("attention.attn.k", k), f("attention.attn.v", v), f("attention.attn.o", o_);
    f("attention.LayerNorm", attention_norm), f("intermediate.dense", intermediate_dense);
    f("output.dense", output_dense), f("output.LayerNorm", output_norm);
  }
  TensorRef operator()(const TensorRef& x, const TensorRef& bias) const {
    const Ops o(*this, x);
    const TensorRef attended = attend(o, split_heads(o, q(x), heads_), split_heads(o, k(x), heads_),
                                      split_heads(o, v(x), heads_), {.mask = bias});
    const TensorRef y = attention_norm(o.add(o_(merge_heads(o, attended)), x));
    return output_norm(o.add(output_dense(activate(o, activation_, intermediate_dense(y))), y));
  }
  Linear q, k, v, o_, intermediate_dense, output_dense;
  LayerNorm attention_norm, output_norm;

 private:
  int64_t heads_;
  std::string activation_;
};

struct Body : Module {
  Body(const ModelConfig& c, const BertSizes& s, bool pooled)
      : words(s.vocabulary, s.hidden),
        places(s.positions, s.hidden),
        norm(s.hidden, {.epsilon = s.epsilon}),
        distances(c.get<int64_t>("relative_attention_num_buckets", 32), s.heads) {
    layers = ModuleList<Layer>(s.layers, [&](int64_t) { return Layer(s); });
    if (pooled) pooler.emplace(s.hidden);
  }
  void fields(Fields& f) override {
    f("embeddings.word_embeddings", words), f("embeddings.position_embeddings", places);
    f("embeddings.LayerNorm", norm), f("encoder.layer", layers);
    f("encoder.relative_attention_bias", distances), f("pooler", pooler);
  }
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask) const {
    const Ops o(*this, ids);
    const TensorRef length = o.size(ids, 1);
    constexpr int64_t padding = 1;  // of the architecture, whatever pad_token_id says
    TensorRef x = norm(o.add(words(ids), places(positions_without_padding(o, ids, padding))));
    TensorRef bias = relative_bias(o, o.use(distances.weight), length, length);
    if (const TensorRef hidden_keys = attention_mask(o, mask, length, length, x.element_type()))
      bias = o.add(bias, hidden_keys);
    for (const Layer& layer : layers) x = layer(x, bias);
    return x;
  }
  Embedding words, places;
  LayerNorm norm;
  Embedding distances;
  ModuleList<Layer> layers;
  std::optional<Pooler> pooler;
};

class MpNet final : public TextEncoder {
 public:
  MpNet(const ModelConfig& c, std::string_view task)
      : TextEncoder(task), body_(c, BertSizes(c), task == "multiple-choice") {
    const BertSizes s(c);
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
    f(body_name("mpnet"), body_), f("lm_head", head_);
    f("classifier", first_), f("classifier", classifier_), f("qa_outputs", answers_);
  }
  std::string base_prefix() const override { return "mpnet."; }

 protected:
  TensorRef encode(const TensorRef& ids, const TensorRef& mask, const TensorRef&) const override {
    return body_(ids, mask);
  }
  TensorRef fill_mask(const TensorRef& hidden) const override { return (*head_)(hidden); }
  TensorRef classify(const TensorRef& hidden) const override {
    return first_ ? (*first_)(hidden) : (*classifier_)((*body_.pooler)(hidden));
  }
  TensorRef classify_tokens(const TensorRef& hidden) const override {
    return answers_ ? (*answers_)(hidden) : (*classifier_)(hidden);
  }

 private:
  Body body_;
  std::optional<MaskedHead> head_;
  std::optional<FirstTokenHead> first_;
  std::optional<Linear> classifier_, answers_;
};

}  // namespace

void register_mpnet(ModelRegistry& all) {
  all.add("mpnet", text_encoder_tasks,
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<MpNet>(c, task); });
}

}  // namespace lathe::nn
