// Whisper (Radford et al. 2022): two convolutions over the spectrogram, an encoder with its positions in the
// checkpoint, and a decoder of text.
#include "nn/sequence_layers.h"
#include "nn/sizes.h"

namespace lathe::nn {
namespace {

SequenceOptions side_of(const ModelConfig& config, const std::string& side) {
  SequenceOptions o = SequenceOptions::from(config, side);
  o.norm_first = true;
  o.key_bias = false;
  o.norm_embedding = false;
  o.scale_embedding = false;  // read by the published implementation, and never used
  o.positions = config.get<int64_t>("max_target_positions", 448);
  return o;
}

/// "input_features" [batch, mel bins, frames] → [batch, frames / 2, size].
class WhisperEncoder : public Module {
 public:
  explicit WhisperEncoder(const ModelConfig& config) : WhisperEncoder(config, side_of(config, "encoder")) {}
  void fields(Fields& f) override {
    f("conv1", conv1), f("conv2", conv2), f("embed_positions", embed_positions);
    f("layers", layers), f("layer_norm", layer_norm);
  }
  /// Returns the input of each layer, and the result last.
  std::vector<TensorRef> states(const TensorRef& features) const {
    const Ops o(*this, features);
    TensorRef x = gelu(o, conv2(gelu(o, conv1(features))));
    x = o.add(o.transpose(x, {0, 2, 1}), o.use(embed_positions.weight));
    std::vector<TensorRef> all{x};
    for (const SequenceLayer& layer : layers) all.push_back(layer(all.back(), {}));
    all.back() = layer_norm(all.back());
    return all;
  }
  Conv1d conv1, conv2;
  Embedding embed_positions;
  ModuleList<SequenceLayer> layers;
  LayerNorm layer_norm;

 private:
  WhisperEncoder(const ModelConfig& config, const SequenceOptions& o)
      : conv1(config.get<int64_t>("num_mel_bins", 80), o.size, {3}, {.padding = {1}}),
        conv2(o.size, o.size, {3}, {.stride = {2}, .padding = {1}}),
        embed_positions(config.get<int64_t>("max_source_positions", 1500), o.size),
        layers(o.layers, [&](int64_t) { return SequenceLayer(o, false); }),
        layer_norm(o.size) {}
};

class WhisperModel : public Seq2SeqModel {
 public:
  WhisperModel(const ModelConfig& config, std::string_view task)
      : encoder(config), decoder(side_of(config, "decoder")) {
    if (task != "automatic-speech-recognition") return;
    proj_out.emplace(decoder.size(), config.get<int64_t>("vocab_size"), LinearOptions{.bias = false});
    if (config.get<bool>("tie_word_embeddings", true)) proj_out->weight = decoder.embedding();
  }
  void fields(Fields& f) override {
    f("model.encoder", encoder), f("model.decoder", decoder), f("proj_out", proj_out);
  }
  std::string base_prefix() const override { return "model."; }

  Outputs encode(Network&, const Inputs& inputs) const override {
    return {{"last_hidden_state", encoder.states(inputs.at("input_features")).back()}};
  }

  Outputs decode(Network&, const Inputs& inputs) const override {
    Outputs present, outputs;
    const TensorRef x = decoder(inputs, present);
    if (proj_out)
      outputs.set("logits", (*proj_out)(x));
    else
      outputs.set("last_hidden_state", x);
    for (const auto& [name, t] : present) outputs.set(name, t);
    return outputs;
  }

  WhisperEncoder encoder;
  SequenceDecoder decoder;
  std::optional<Linear> proj_out;
};

/// audio-classification: the encoder, a projection, the mean over time.
class WhisperClassifier : public Model {
 public:
  explicit WhisperClassifier(const ModelConfig& config)
      : encoder(config),
        projector(config.get<int64_t>("d_model"), config.get<int64_t>("classifier_proj_size", 256)),
        classifier(config.get<int64_t>("classifier_proj_size", 256), label_count(config)) {
    if (config.get<bool>("use_weighted_layer_sum", false))
      layer_weights = Parameter(DataType::float32, {config.get<int64_t>("encoder_layers") + 1});
  }
  void fields(Fields& f) override {
    f("encoder", encoder), f("layer_weights", layer_weights);
    f("projector", projector), f("classifier", classifier);
  }
  Outputs forward(Network&, const Inputs& inputs) const override {
    const std::vector<TensorRef> states = encoder.states(inputs.at("input_features"));
    const Ops o(*this, states.back());
    TensorRef x = states.back();
    if (layer_weights) {
      std::vector<TensorRef> parts;
      for (const TensorRef& t : states) parts.push_back(o.unsqueeze(t, {1}));
      const TensorRef weights = o.reshape(o.softmax(o.use(layer_weights)), {-1, 1, 1});
      x = o.sum(o.mul(o.concat(parts, 1), weights), {1}, false);
    }
    return {{"logits", classifier(o.mean(projector(x), {1}, false))}};
  }
  WhisperEncoder encoder;
  Parameter layer_weights;
  Linear projector, classifier;
};

}  // namespace

void register_whisper(ModelRegistry& all) {
  all.add("whisper", {"feature-extraction", "automatic-speech-recognition"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<WhisperModel>(config, task);
          });
  all.add("whisper", {"audio-classification"}, [](const ModelConfig& config, std::string_view) {
    return std::make_unique<WhisperClassifier>(config);
  });
}

}  // namespace lathe::nn
