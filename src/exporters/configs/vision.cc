// Images: vit, swin, resnet; images and texts: clip; images to texts.
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

const Axes image = {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}};

class ViTOnnxConfig : public VisionOnnxConfig {
 public:
  using VisionOnnxConfig::VisionOnnxConfig;
  NamedAxes inputs() const override { return {{"pixel_values", image}}; }
  NamedAxes outputs() const override {
    if (task() == "feature-extraction") return {{"last_hidden_state", {{0, "batch_size"}}}};
    return VisionOnnxConfig::outputs();
  }
};

class CLIPOnnxConfig : public TextAndVisionOnnxConfig {
 public:
  using TextAndVisionOnnxConfig::TextAndVisionOnnxConfig;
  NamedAxes inputs() const override {
    if (!compares()) return {{"pixel_values", image}};
    const Axes text = {{0, "text_batch_size"}, {1, "sequence_length"}};
    return {{"pixel_values", image}, {"input_ids", text}, {"attention_mask", text}};
  }
  std::vector<std::string> forward_arguments() const override {
    return {"input_ids", "pixel_values", "attention_mask"};
  }
  NamedAxes outputs() const override {
    if (!compares()) return TextAndVisionOnnxConfig::outputs();
    return {{"logits_per_image", {{0, "image_batch_size"}, {1, "text_batch_size"}}},
            {"logits_per_text", {{0, "text_batch_size"}, {1, "image_batch_size"}}},
            {"text_embeds", {{0, "text_batch_size"}}},
            {"image_embeds", {{0, "image_batch_size"}}}};
  }

 private:
  bool compares() const {
    return task() == "feature-extraction" || task() == "zero-shot-image-classification";
  }
};

class VisionEncoderDecoderOnnxConfig : public EncoderDecoderBaseOnnxConfig {
 public:
  using EncoderDecoderBaseOnnxConfig::EncoderDecoderBaseOnnxConfig;
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    // The image is the encoder's: its sizes are in the encoder's half of the configuration.
    auto all = EncoderDecoderBaseOnnxConfig::dummy_input_generator_classes();
    all[0] = generator_class<DummyVisionInputGenerator>();
    return all;
  }
  std::vector<std::string> forward_arguments() const override {
    return {"pixel_values", "decoder_input_ids", "decoder_attention_mask", "encoder_outputs", "past_key_values"};
  }
  NamedAxes inputs() const override {
    NamedAxes all;
    if (behavior() != ConfigBehavior::decoder) all["pixel_values"] = image;
    for (const auto& [name, axes] : EncoderDecoderBaseOnnxConfig::inputs())
      if (name != "input_ids" && name != "attention_mask") all[name] = axes;
    return all;
  }
  NamedAxes outputs() const override {
    if (behavior() == ConfigBehavior::encoder) return encoder_config().outputs();
    return EncoderDecoderBaseOnnxConfig::outputs();
  }
};

}  // namespace

void register_configs_vision(TasksManager& tasks) {
  for (const char* type : {"vit", "swin"})
    tasks.register_config<ViTOnnxConfig>(type, {"feature-extraction", "image-classification", "masked-im"});
  tasks.register_config<ViTOnnxConfig>("resnet", {"feature-extraction", "image-classification"});
  tasks.register_config<ViTOnnxConfig>("donut-swin", {"feature-extraction"});
  tasks.register_config<CLIPOnnxConfig>(
      "clip", {"feature-extraction", "zero-shot-image-classification", "image-classification"});
  tasks.register_config<VisionEncoderDecoderOnnxConfig>("vision-encoder-decoder",
                                                        {"image-to-text", "image-to-text-with-past"});
}

}  // namespace lathe::exporters
