// Images to texts: vision-encoder-decoder, and trocr, which is a decoder for it only.
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

class VisionEncoderDecoderOnnxConfig : public EncoderDecoderBaseOnnxConfig {
 public:
  using EncoderDecoderBaseOnnxConfig::EncoderDecoderBaseOnnxConfig;
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    // The encoder reads the image: its sizes are in the encoder's half of the configuration.
    auto all = EncoderDecoderBaseOnnxConfig::dummy_input_generator_classes();
    all[0] = "DummyVisionInputGenerator";
    return all;
  }
  std::vector<std::string> forward_arguments() const override {
    return {"pixel_values", "decoder_input_ids", "decoder_attention_mask", "encoder_outputs",
            "past_key_values"};
  }
  NamedAxes inputs() const override {
    NamedAxes all;
    if (behavior() != ConfigBehavior::decoder)
      all["pixel_values"] = {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}};
    for (const auto& [name, axes] : EncoderDecoderBaseOnnxConfig::inputs())
      if (name != "input_ids" && name != "attention_mask") all[name] = axes;
    return all;
  }
  NamedAxes outputs() const override {
    if (behavior() == ConfigBehavior::encoder) return encoder_config().outputs();
    return EncoderDecoderBaseOnnxConfig::outputs();
  }
};

class TrOCROnnxConfig : public TextSeq2SeqOnnxConfig {
 public:
  using TextSeq2SeqOnnxConfig::TextSeq2SeqOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    return normalized_seq2seq_config().with_args(
        {{"hidden_size", "d_model"},
         {"num_layers", "decoder_layers"},
         {"num_attention_heads", "decoder_attention_heads"},
         {"decoder_num_layers", "decoder_layers"},
         {"decoder_num_attention_heads", "decoder_attention_heads"}});
  }
};

}  // namespace

void register_configs_vision_encoder_decoder(TasksManager& tasks) {
  tasks.register_config<VisionEncoderDecoderOnnxConfig>("vision-encoder-decoder",
                                                        {"image-to-text", "image-to-text-with-past"});
  tasks.register_config<TrOCROnnxConfig>("trocr", {"feature-extraction", "feature-extraction-with-past"});
}

}  // namespace lathe::exporters
