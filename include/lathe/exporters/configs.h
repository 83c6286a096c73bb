// Classes between OnnxConfig and the architectures: what all text encoders, decoders, … have in common.
#pragma once

#include "lathe/exporters/onnx_config.h"

namespace lathe::exporters {

class LATHE_API TextEncoderOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator"};
  }
};

/// input_ids, attention_mask and, with past, past_key_values.N.….
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

/// And position_ids.
class LATHE_API TextDecoderWithPositionIdsOnnxConfig : public TextDecoderOnnxConfig {
 public:
  using TextDecoderOnnxConfig::TextDecoderOnnxConfig;
  NamedAxes inputs() const override;
};

/// Of the encoder input_ids and attention_mask; of the decoder decoder_input_ids and encoder_outputs.
class LATHE_API TextSeq2SeqOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  using OnnxSeq2SeqConfigWithPast::OnnxSeq2SeqConfigWithPast;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_seq2seq_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator", "DummySeq2SeqPastKeyValuesGenerator"};
  }
  NamedAxes inputs() const override;
};

class LATHE_API VisionOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_vision_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyVisionInputGenerator"};
  }
};

class LATHE_API TextAndVisionOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_and_vision_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummyVisionInputGenerator", "DummyBboxInputGenerator"};
  }
};

/// input_values.
class LATHE_API AudioOnnxConfig : public OnnxConfig {
 public:
  using OnnxConfig::OnnxConfig;
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyAudioInputGenerator"};
  }
  NamedAxes inputs() const override;
};

/// input_features; of the decoder decoder_input_ids and encoder_outputs.
class LATHE_API AudioToTextOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  using OnnxSeq2SeqConfigWithPast::OnnxSeq2SeqConfigWithPast;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_seq2seq_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyAudioInputGenerator", "DummySeq2SeqDecoderTextInputGenerator", "DummySeq2SeqPastKeyValuesGenerator"};
  }
  NamedAxes inputs() const override;
};

/// Any encoder with any decoder, each with a config of its own, for "encoder" and "decoder" of config.json.
class LATHE_API EncoderDecoderBaseOnnxConfig : public OnnxSeq2SeqConfigWithPast {
 public:
  /// Throws Code::not_supported where nobody registered a part, or where the decoder has no past that the
  /// options want.
  EncoderDecoderBaseOnnxConfig(ModelConfig config, OnnxConfigOptions options);
  const OnnxConfig& encoder_config() const { return *encoder_; }
  const OnnxConfig& decoder_config() const { return *decoder_; }
  NormalizedConfigKind normalized_config_kind() const override { return normalized_encoder_decoder_config(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator", "DummyVisionEncoderDecoderPastKeyValuesGenerator"};
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
