// An encoder of images and a decoder of text from two other architectures: Donut (Kim et al. 2022) is Swin
// without its last norm, and the decoder of mBART.
#include "nn/sequence_layers.h"
#include "nn/swin.h"

namespace lathe::nn {
namespace {

Error unsupported(const char* side, const std::string& got, const char* expected) {
  Diagnostic d;
  d.code = Code::not_supported;
  d.stage = "nn";
  d.node = "vision-encoder-decoder";
  d.expected = std::string("as ") + side + " " + expected;
  d.got = "'" + got + "'";
  return Error(std::move(d));
}

class VisionEncoderDecoder : public Seq2SeqModel {
 public:
  explicit VisionEncoderDecoder(const ModelConfig& config)
      : VisionEncoderDecoder(encoder_of(config), config.get<ModelConfig>("decoder")) {}
  void fields(Fields& f) override {
    f("encoder", encoder), f("decoder.model.decoder", decoder), f("decoder.lm_head", lm_head);
    f("enc_to_dec_proj", projection);
  }

  Outputs encode(Network&, const Inputs& inputs) const override {
    return {{"last_hidden_state", encoder(inputs.at("pixel_values"))}};
  }

  Outputs decode(Network&, const Inputs& inputs) const override {
    Inputs of_decoder = inputs;
    const TensorRef states = inputs.find("encoder_hidden_states");
    if (states && projection) of_decoder.set("encoder_hidden_states", (*projection)(states));
    Outputs present, outputs;
    outputs.set("logits", lm_head(decoder(of_decoder, present)));
    for (const auto& [name, t] : present) outputs.set(name, t);
    return outputs;
  }

  SwinBody encoder;
  SequenceDecoder decoder;
  Linear lm_head;
  std::optional<Linear> projection;

 private:
  static ModelConfig encoder_of(const ModelConfig& config) {
    const auto encoder = config.get<ModelConfig>("encoder");
    const auto type = encoder.get<std::string>("model_type");
    if (type != "donut-swin") throw unsupported("an encoder", type, "'donut-swin'");
    return encoder;
  }
  static SequenceOptions decoder_of(const ModelConfig& config) {
    const auto type = config.get<std::string>("model_type");
    if (type != "mbart") throw unsupported("a decoder", type, "'mbart'");
    return SequenceOptions::bart(config, "decoder", true);
  }
  VisionEncoderDecoder(const ModelConfig& of_encoder, const ModelConfig& of_decoder)
      : encoder(SwinOptions(of_encoder), false), decoder(decoder_of(of_decoder)) {
    lm_head = Linear(decoder.size(), of_decoder.get<int64_t>("vocab_size"), {.bias = false});
    if (of_decoder.get<bool>("tie_word_embeddings", true)) lm_head.weight = decoder.embedding();
    const int64_t features = SwinOptions(of_encoder).features();
    if (features != decoder.size()) projection.emplace(features, decoder.size());
  }
};

}  // namespace

void register_vision_encoder_decoder(ModelRegistry& all) {
  all.add("vision-encoder-decoder", {"image-to-text", "document-question-answering"},
          [](const ModelConfig& config, std::string_view) {
            return std::make_unique<VisionEncoderDecoder>(config);
          });
}

}  // namespace lathe::nn
