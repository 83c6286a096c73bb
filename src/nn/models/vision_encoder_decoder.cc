// An encoder of images and a decoder of text from two other architectures: Donut (Kim et al. 2022) is Swin
// without its last norm, and the decoder of mBART; captions are written by ViT and GPT-2, lines of text read
// by ViT or DeiT and TrOCR's decoder.
#include "nn/access.h"
#include "nn/models/bert.h"
#include "nn/models/gpt2.h"
#include "nn/models/swin.h"
#include "nn/models/trocr.h"
#include "nn/models/vit.h"
#include "nn/sequence_layers.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

/// "pixel_values" → [batch, length, size].
struct ImageEncoder {
  std::shared_ptr<Module> module;
  std::function<TensorRef(const TensorRef& image)> run;
  int64_t size;
  std::vector<std::pair<std::string, std::string>> other_parts;
};

template <class Body>
ImageEncoder image_encoder(std::shared_ptr<Body> body, int64_t size,
                           std::vector<std::pair<std::string, std::string>> other_parts) {
  return {body, [raw = body.get()](const TensorRef& image) { return (*raw)(image); }, size,
          std::move(other_parts)};
}

/// The decoder with the head that makes words of its hidden states, and the paths of both in a checkpoint.
struct TextDecoder {
  std::shared_ptr<DecoderBody> body;
  std::string path, head_path;
  std::shared_ptr<Module> head;
  std::function<TensorRef(const TensorRef& states)> words;
  int64_t memory_size = 0;  // of the encoder's states, if that is not its own size
};

bool ties_words(const ModelConfig& c) { return c.get<bool>("tie_word_embeddings", true); }

/// A body with a product as its head.
TextDecoder text_decoder(const ModelConfig& c, std::shared_ptr<DecoderBody> body, const char* path,
                         const char* head_path = "decoder.lm_head") {
  auto head =
      std::make_shared<Linear>(body->size(), c.get<int64_t>("vocab_size"), LinearOptions{.bias = false});
  if (ties_words(c)) head->weight = body->embedding();
  return {std::move(body), path, head_path, head,
          [raw = head.get()](const TensorRef& states) { return (*raw)(states); }};
}

/// BERT or RoBERTa with the head of fill-mask.
TextDecoder masked_decoder(const ModelConfig& c, const TextEncoderNames& names) {
  auto body = std::make_shared<BertDecoder>(c);
  auto head = std::make_shared<MaskedHead>(body->size(), c.get<int64_t>("vocab_size"), names.masked_epsilon,
                                           names.masked_activation, names.masked);
  if (ties_words(c)) head->decoder.weight = body->embedding();
  return {std::move(body), "decoder." + names.body, "decoder." + names.masked_path, head,
          [raw = head.get()](const TensorRef& states) { return (*raw)(states); }};
}

[[noreturn]] void refuse(const char* side, const std::string& got, const std::vector<std::string>& known) {
  const std::string near = detail::near(got, known);
  throw detail::fault(Code::not_supported, "vision-encoder-decoder",
                      std::string("as ") + side + " one of " + detail::listed(known), "'" + got + "'", near);
}

ImageEncoder encoder_of(const ModelConfig& c) {
  const auto type = c.get<std::string>("model_type");
  if (type == "donut-swin") {
    const SwinOptions o(c);
    return image_encoder(std::make_shared<SwinBody>(o, false), o.features(), swin_other_parts());
  }
  if (type == "swin") {
    const SwinOptions o(c);
    return image_encoder(std::make_shared<SwinBody>(o, true), o.features(), swin_other_parts());
  }
  if (type == "vit" || type == "deit") {
    auto body = std::make_shared<VitBody>(c, VitTokens{.distillation = type == "deit"});
    return image_encoder(body, body->size(), vit_other_parts());
  }
  refuse("an encoder", type, {"deit", "donut-swin", "swin", "vit"});
}

TextDecoder decoder_of(const ModelConfig& c) {
  const auto type = c.get<std::string>("model_type");
  if (type == "bart" || type == "mbart")
    return text_decoder(
        c, std::make_shared<SequenceDecoder>(SequenceOptions::bart(c, "decoder", type == "mbart")),
        "decoder.model.decoder");
  if (type == "bert") return masked_decoder(c, bert_names(c));
  if (type == "roberta" || type == "xlm-roberta") return masked_decoder(c, roberta_names("roberta", c));
  if (type == "gpt2") {
    const Gpt2Options o(c);
    if (!o.cross)
      throw unsupported_config("vision-encoder-decoder", "a decoder that reads what the encoder gave",
                               "decoder.add_cross_attention", "false",
                               "say true, where the checkpoint has the weights of cross attention");
    return text_decoder(c, std::make_shared<Gpt2Body>(o), "decoder.transformer");
  }
  if (type == "trocr") {
    const SequenceOptions o = trocr_options(c);
    TextDecoder made = text_decoder(c, std::make_shared<SequenceDecoder>(o), "decoder.model.decoder",
                                    "decoder.output_projection");
    made.memory_size = o.memory_size;
    return made;
  }
  refuse("a decoder", type, {"bart", "bert", "gpt2", "mbart", "roberta", "trocr", "xlm-roberta"});
}

class VisionEncoderDecoder : public Seq2SeqModel {
 public:
  explicit VisionEncoderDecoder(const ModelConfig& config)
      : encoder_(encoder_of(config.get<ModelConfig>("encoder"))),
        decoder_(decoder_of(config.get<ModelConfig>("decoder"))) {
    const auto words = config.get<ModelConfig>("decoder");
    const int64_t size = decoder_.body->size();
    if (encoder_.size == (decoder_.memory_size ? decoder_.memory_size : size)) return;
    if (words.has("cross_attention_hidden_size"))
      throw unsupported_config(
          "vision-encoder-decoder",
          decoder_.memory_size ? "the size of what the encoder gives, " + std::to_string(encoder_.size)
                               : "a projection of what the encoder gave to the decoder's size",
          "decoder.cross_attention_hidden_size",
          std::to_string(words.get<int64_t>("cross_attention_hidden_size")),
          decoder_.memory_size ? "the decoder was made for another encoder"
                               : "these decoders have no keys and values of another size");
    projection.emplace(encoder_.size, size);
  }
  void fields(Fields& f) override {
    f("encoder", encoder_.module), f(decoder_.path, decoder_.body), f(decoder_.head_path, decoder_.head);
    f("enc_to_dec_proj", projection);
  }

  std::vector<std::pair<std::string, std::string>> other_parts() const override {
    return encoder_.other_parts;
  }

  Outputs encode(Network&, const Inputs& inputs) const override {
    return {{"last_hidden_state", encoder_.run(inputs.at("pixel_values"))}};
  }

  Outputs decode(Network&, const Inputs& inputs) const override {
    Inputs of_decoder = inputs;
    const TensorRef states = inputs.find("encoder_hidden_states");
    if (states && projection) of_decoder.set("encoder_hidden_states", (*projection)(states));
    Outputs present, outputs;
    outputs.set("logits", decoder_.words((*decoder_.body)(of_decoder, present)));
    for (const auto& [name, t] : present) outputs.set(name, t);
    return outputs;
  }

  std::optional<Linear> projection;

 private:
  ImageEncoder encoder_;
  TextDecoder decoder_;
};

}  // namespace

void register_vision_encoder_decoder(ModelRegistry& all) {
  all.add("vision-encoder-decoder", {"image-to-text", "document-question-answering"},
          [](const ModelConfig& config, std::string_view) {
            return std::make_unique<VisionEncoderDecoder>(config);
          });
}

}  // namespace lathe::nn
