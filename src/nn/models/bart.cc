// BART (Lewis et al. 2020) with its heads.
#include "nn/models/bart.h"

#include "nn/sequence_layers.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

/// dense, tanh, out_proj.
class ClassificationHead : public Module {
 public:
  ClassificationHead(int64_t size, int64_t labels) : dense(size, size), out_proj(size, labels) {}
  void fields(Fields& f) override { f("dense", dense), f("out_proj", out_proj); }
  TensorRef operator()(const TensorRef& x) const { return out_proj(Ops(*this, x).op("Tanh", {dense(x)})); }
  Linear dense, out_proj;
};

/// "model." with the encoder, the decoder, and the tokens that both share.
class BartBody : public Module {
 public:
  BartBody(const ModelConfig& config, bool norm_first)
      : shared(config.get<int64_t>("vocab_size"), config.get<int64_t>("d_model")),
        encoder(SequenceOptions::bart(config, "encoder", norm_first)),
        decoder(SequenceOptions::bart(config, "decoder", norm_first)),
        tied_(config.get<bool>("tie_word_embeddings", true)) {
    if (!tied_) return;
    encoder.embedding.embed_tokens.weight = shared.weight;
    decoder.tokens.embed_tokens.weight = shared.weight;
  }
  void fields(Fields& f) override {
    if (tied_) f("shared", shared);
    f("encoder", encoder), f("decoder", decoder);
  }
  Embedding shared;  // or without effect, if encoder and decoder have tokens of their own
  SequenceEncoder encoder;
  SequenceDecoder decoder;

 private:
  bool tied_;
};

class BartModel : public Seq2SeqModel {
 public:
  BartModel(const ModelConfig& config, std::string_view task, bool norm_first)
      : body_(config, norm_first), task_(task) {
    const int64_t size = body_.decoder.size();
    if (task == "text2text-generation") {
      const int64_t vocabulary = config.get<int64_t>("vocab_size");
      lm_head_.emplace(size, vocabulary, LinearOptions{.bias = false});
      if (config.get<bool>("tie_word_embeddings", true)) lm_head_->weight = body_.shared.weight;
      final_logits_bias_ = Parameter(DataType::float32, {1, vocabulary});
    } else if (task == "text-classification") {
      classification_head_.emplace(size, label_count(config));
      end_ = config.get<int64_t>("eos_token_id", 2);
    } else if (task == "question-answering") {
      qa_outputs_.emplace(size, 2);
    }
    padding_ = config.get<int64_t>("pad_token_id", 1);
    start_ = config.get<int64_t>("decoder_start_token_id", config.get<int64_t>("eos_token_id", 2));
    shifts_with_last_ = norm_first;
  }
  void fields(Fields& f) override {
    f("final_logits_bias", final_logits_bias_);
    f("model", body_), f("lm_head", lm_head_);
    f("classification_head", classification_head_), f("qa_outputs", qa_outputs_);
  }
  std::string base_prefix() const override { return "model."; }

  Outputs encode(Network&, const Inputs& inputs) const override {
    return {{"last_hidden_state", body_.encoder(inputs)}};
  }

  Outputs decode(Network&, const Inputs& inputs) const override {
    Outputs present, outputs;
    const TensorRef x = body_.decoder(inputs, present);
    if (lm_head_) {
      const Ops o(*this, x);
      outputs.set("logits", o.add((*lm_head_)(x), o.use(final_logits_bias_)));
    } else {
      outputs.set("last_hidden_state", x);
    }
    for (const auto& [name, t] : present) outputs.set(name, t);
    return outputs;
  }

  Outputs forward(Network& network, const Inputs& inputs) const override {
    if (!classification_head_ && !qa_outputs_) return Seq2SeqModel::forward(network, inputs);
    // The decoder reads the same text, shifted by a token.
    const TensorRef& ids = inputs.at("input_ids");
    const Ops o(*this, ids);
    Inputs whole = inputs;
    whole.set("decoder_input_ids", shifted(o, ids));
    const TensorRef x = Seq2SeqModel::forward(network, whole).at("last_hidden_state");
    if (classification_head_) return {{"logits", (*classification_head_)(last_end(o, x, ids))}};
    const std::vector<TensorRef> parts = o.split((*qa_outputs_)(x), {1, 1}, -1);
    return {{"start_logits", o.squeeze(parts[0], {-1})}, {"end_logits", o.squeeze(parts[1], {-1})}};
  }

 private:
  /// Shifts by one token: BART begins with its start token, mBART with the last token that is not padding
  /// (the language).
  TensorRef shifted(const Ops& o, const TensorRef& ids) const {
    const TensorRef at = o.range(o.size(ids, 1));
    // Gathered, not sliced and concatenated, so that the length of the text stays the same symbol.
    const TensorRef before = o.gather(ids, o.maximum(o.sub(at, 1), 0), 1);
    return o.where(o.equal(at, 0), first_token(o, ids), before);
  }
  /// [batch, 1], or one for all.
  TensorRef first_token(const Ops& o, const TensorRef& ids) const {
    if (!shifts_with_last_) return o.cast_like(o.integer(start_), ids);
    const TensorRef counts =
        o.cast(o.op("Not", {o.equal(ids, static_cast<double>(padding_))}), DataType::int64);
    return o.op("GatherElements", {ids, o.sub(o.sum(counts, {1}), 1)}, {{"axis", int64_t{1}}});
  }
  /// Returns the row of x at the last end-of-sentence token: [batch, size].
  TensorRef last_end(const Ops& o, const TensorRef& x, const TensorRef& ids) const {
    const TensorRef ends = o.cast(o.equal(ids, static_cast<double>(end_)), DataType::int64);
    const TensorRef last = o.op("ArgMax", {o.mul(o.range(o.size(ids, 1)), ends)},
                                {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
    return o.op("GatherND", {x, last}, {{"batch_dims", int64_t{1}}});
  }

  BartBody body_;
  std::optional<Linear> lm_head_, qa_outputs_;
  std::optional<ClassificationHead> classification_head_;
  Parameter final_logits_bias_;
  std::string task_;
  int64_t padding_ = 1, start_ = 2, end_ = 2;
  bool shifts_with_last_ = false;
};

}  // namespace

void add_bart_family(ModelRegistry& all, const std::string& type, bool norm_first) {
  all.add(type, {"feature-extraction", "text2text-generation", "text-classification", "question-answering"},
          [norm_first](const ModelConfig& config, std::string_view task) {
            return std::make_unique<BartModel>(config, task, norm_first);
          });
  all.add(type, {"text-generation"}, [norm_first](const ModelConfig& config, std::string_view task) {
    SequenceOptions o = SequenceOptions::bart(config, "decoder", norm_first);
    o.cross = config.get<bool>("add_cross_attention", false);
    return std::make_unique<DecoderModel>(std::make_shared<SequenceDecoder>(o), config, task,
                                          DecoderNames{.body = "model.decoder", .tied = true});
  });
}

void register_bart(ModelRegistry& all) { add_bart_family(all, "bart", false); }

}  // namespace lathe::nn
