// Classes between OnnxConfig and the architectures: what all text encoders, decoders, … have in common. Names
// as in Optimum (optimum.exporters.onnx.config).
#pragma once

#include "lathe/exporters/onnx_config.h"

namespace lathe::exporters {

/// Config of models that read text.
class LATHE_API TextEncoderOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator"};
  }
};

/// Config of text decoders. Inputs: input_ids, attention_mask and, with past, past_key_values.N.….
class LATHE_API TextDecoderOnnxConfig : public OnnxConfigWithPast {
 public:
  using OnnxConfigWithPast::OnnxConfigWithPast;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummyPastKeyValuesGenerator"};
  }
  bool pad_attention_mask_to_past() const override { return true; }
  NamedAxes inputs() const override;
};

/// Config of text decoders that also take position_ids.
class LATHE_API TextDecoderWithPositionIdsOnnxConfig : public TextDecoderOnnxConfig {
 public:
  using TextDecoderOnnxConfig::TextDecoderOnnxConfig;
  NamedAxes inputs() const override;
};

/// Config of encoder-decoders of text. Inputs of the encoder: input_ids and attention_mask; of the decoder:
/// decoder_input_ids and encoder_outputs.
class LATHE_API TextSeq2SeqOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  using OnnxSeq2SeqConfigWithPast::OnnxSeq2SeqConfigWithPast;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_seq2seq_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator",
            "DummySeq2SeqPastKeyValuesGenerator"};
  }
  NamedAxes inputs() const override;
};

/// Config of models that read images.
class LATHE_API VisionOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_vision_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyVisionInputGenerator"};
  }
};

/// Config of models that read text and images.
class LATHE_API TextAndVisionOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_and_vision_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummyVisionInputGenerator", "DummyBboxInputGenerator"};
  }
};

/// Config of models that read sound as a wave. Inputs: input_values.
class LATHE_API AudioOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyAudioInputGenerator"};
  }
  NamedAxes inputs() const override;
};

/// Config of encoder-decoders from sound to text. Inputs: input_features; of the decoder decoder_input_ids
/// and encoder_outputs.
class LATHE_API AudioToTextOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  using OnnxSeq2SeqConfigWithPast::OnnxSeq2SeqConfigWithPast;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_seq2seq_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyAudioInputGenerator", "DummySeq2SeqDecoderTextInputGenerator",
            "DummySeq2SeqPastKeyValuesGenerator"};
  }
  NamedAxes inputs() const override;
};

/// Config of any encoder with any decoder, each with a config of its own for "encoder" and "decoder" of
/// config.json.
class LATHE_API EncoderDecoderBaseOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  /// Makes the config. Throws Code::not_supported where nobody registered encoder or decoder, or where the
  /// options want past keys and values that the decoder does not keep.
  EncoderDecoderBaseOnnxConfig(ModelConfig config, OnnxConfigOptions options);
  /// Returns the config of the encoder.
  const OnnxConfig& encoder_config() const { return *encoder_; }
  /// Returns the config of the decoder.
  const OnnxConfig& decoder_config() const { return *decoder_; }
  NormalizedConfigKind normalized_config_kind() const override { return normalized_encoder_decoder_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator",
            "DummyVisionEncoderDecoderPastKeyValuesGenerator"};
  }
  NamedAxes inputs() const override;
  void add_past_key_values(NamedAxes& into, PastDirection direction) const override;
  void flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                               const std::vector<Tensor>& tensors) const override;

 protected:
  NormalizedConfig make_normalized_config() const override;

 private:
  std::shared_ptr<OnnxConfig> encoder_, decoder_;
};

}  // namespace lathe::exporters
