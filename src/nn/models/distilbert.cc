// DistilBERT (Sanh et al. 2019).
#include "nn/models/text_encoder.h"

namespace lathe::nn {
namespace {

struct Layer : Module {
  Layer(int64_t size, int64_t heads, int64_t inner, std::string activation)
      : q_lin(size, size),
        k_lin(size, size),
        v_lin(size, size),
        out_lin(size, size),
        lin1(size, inner),
        lin2(inner, size),
        sa_layer_norm(size, {.epsilon = 1e-12}),
        output_layer_norm(size, {.epsilon = 1e-12}),
        heads_(heads),
        activation_(std::move(activation)) {}
  void fields(Fields& f) override {
    f("attention.q_lin", q_lin), f("attention.k_lin", k_lin), f("attention.v_lin", v_lin);
    f("attention.out_lin", out_lin), f("sa_layer_norm", sa_layer_norm);
    f("ffn.lin1", lin1), f("ffn.lin2", lin2), f("output_layer_norm", output_layer_norm);
  }
  TensorRef operator()(const TensorRef& x, const TensorRef& mask) const {
    const Ops o(*this, x);
    const TensorRef attended = attend(o, split_heads(o, q_lin(x), heads_), split_heads(o, k_lin(x), heads_),
                                      split_heads(o, v_lin(x), heads_), {.mask = mask});
    const TensorRef y = sa_layer_norm(o.add(out_lin(merge_heads(o, attended)), x));
    return output_layer_norm(o.add(lin2(activate(o, activation_, lin1(y))), y));
  }
  Linear q_lin, k_lin, v_lin, out_lin, lin1, lin2;
  LayerNorm sa_layer_norm, output_layer_norm;

 private:
  int64_t heads_;
  std::string activation_;
};

struct Body : Module {
  explicit Body(const ModelConfig& c)
      : words(c.get<int64_t>("vocab_size"), c.get<int64_t>("dim")),
        places(c.get<int64_t>("max_position_embeddings"), c.get<int64_t>("dim")),
        norm(c.get<int64_t>("dim"), {.epsilon = 1e-12}) {
    const std::string activation = Activation(c.get<std::string>("activation", "gelu")).name();
    layers = ModuleList<Layer>(c.get<int64_t>("n_layers"), [&](int64_t) {
      return Layer(c.get<int64_t>("dim"), c.get<int64_t>("n_heads"), c.get<int64_t>("hidden_dim"),
                   activation);
    });
  }
  void fields(Fields& f) override {
    f("embeddings.word_embeddings", words), f("embeddings.position_embeddings", places);
    f("embeddings.LayerNorm", norm), f("transformer.layer", layers);
  }
  TensorRef operator()(const TensorRef& ids, const TensorRef& mask) const {
    const Ops o(*this, ids);
    const TensorRef length = o.size(ids, 1);
    TensorRef x = norm(o.add(words(ids), places(o.range(length))));
    const TensorRef hidden_keys = attention_mask(o, mask, length, length, x.element_type());
    for (const Layer& layer : layers) x = layer(x, hidden_keys);
    return x;
  }
  Embedding words, places;
  LayerNorm norm;
  ModuleList<Layer> layers;
};

class DistilBert final : public TextEncoder {
 public:
  DistilBert(const ModelConfig& c, std::string_view task)
      : TextEncoder(task), body_(c), activation_(c.get<std::string>("activation", "gelu")) {
    const auto size = c.get<int64_t>("dim"), vocabulary = c.get<int64_t>("vocab_size");
    if (this->task == "fill-mask") {
      vocab_transform_.emplace(size, size);
      vocab_layer_norm_.emplace(size, LayerNormOptions{.epsilon = 1e-12});
      vocab_projector_.emplace(size, vocabulary);
      if (c.get<bool>("tie_word_embeddings", true)) vocab_projector_->weight = body_.words.weight;
    } else if (this->task == "question-answering") {
      answers_.emplace(size, 2);
    } else if (this->task != "feature-extraction") {
      const bool choices = this->task == "multiple-choice";
      if (choices || this->task == "text-classification") pre_classifier_.emplace(size, size);
      classifier_.emplace(size, choices ? 1 : label_count(c));
    }
  }
  void fields(Fields& f) override {
    f(body_name("distilbert"), body_), f("vocab_transform", vocab_transform_);
    f("vocab_layer_norm", vocab_layer_norm_), f("vocab_projector", vocab_projector_);
    f("pre_classifier", pre_classifier_), f("classifier", classifier_), f("qa_outputs", answers_);
  }
  std::string base_prefix() const override { return "distilbert."; }

 protected:
  TensorRef encode(const TensorRef& ids, const TensorRef& mask, const TensorRef&) const override {
    return body_(ids, mask);
  }
  TensorRef fill_mask(const TensorRef& hidden) const override {
    const Ops o(*this, hidden);
    return (*vocab_projector_)((*vocab_layer_norm_)(activate(o, activation_, (*vocab_transform_)(hidden))));
  }
  TensorRef classify(const TensorRef& hidden) const override {
    const Ops o(*this, hidden);
    return (*classifier_)(o.op("Relu", {(*pre_classifier_)(o.select(hidden, 1, 0))}));
  }
  TensorRef classify_tokens(const TensorRef& hidden) const override {
    return answers_ ? (*answers_)(hidden) : (*classifier_)(hidden);
  }

 private:
  Body body_;
  std::string activation_;
  std::optional<Linear> vocab_transform_, vocab_projector_, pre_classifier_, classifier_, answers_;
  std::optional<LayerNorm> vocab_layer_norm_;
};

}  // namespace

void register_distilbert(ModelRegistry& all) {
  all.add("distilbert", text_encoder_tasks,
          [](const ModelConfig& c, std::string_view task) { return std::make_unique<DistilBert>(c, task); });
}

}  // namespace lathe::nn
