// Images and texts: clip, and each of its halves.
#include <algorithm>

#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

const Axes pixels = {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}};

class CLIPOnnxConfig : public TextAndVisionOnnxConfig {
 public:
  using TextAndVisionOnnxConfig::TextAndVisionOnnxConfig;
  NamedAxes inputs() const override {
    if (!compares()) return {{"pixel_values", pixels}};
    const Axes text = {{0, "text_batch_size"}, {1, "sequence_length"}};
    return {{"pixel_values", pixels}, {"input_ids", text}, {"attention_mask", text}};
  }
  NormalizedConfigKind normalized_config_kind() const override {
    const auto side = [&](const std::string& key) {
      return config().has(key + "_dict") ? key + "_dict" : key;
    };
    return TextAndVisionOnnxConfig::normalized_config_kind()
        .with_parts(side("text_config"), side("vision_config"))
        .with_defaults({{"vocab_size", 49408}, {"image_size", 224}, {"num_channels", 3}});
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

/// Vectors of texts and of images that are not normalized: sentence-transformers.
class SentenceTransformersCLIPOnnxConfig : public CLIPOnnxConfig {
 public:
  using CLIPOnnxConfig::CLIPOnnxConfig;
  std::vector<std::string> forward_arguments() const override {
    return {"input_ids", "attention_mask", "pixel_values"};
  }
  NamedAxes outputs() const override {
    return {{"text_embeds", {{0, "text_batch_size"}}}, {"image_embeds", {{0, "image_batch_size"}}}};
  }
};

class CLIPVisionModelOnnxConfig : public VisionOnnxConfig {
 public:
  using VisionOnnxConfig::VisionOnnxConfig;
  NamedAxes inputs() const override { return {{"pixel_values", pixels}}; }
  NamedAxes outputs() const override {
    return {{"last_hidden_state", {{0, "batch_size"}}}, {"pooler_output", {{0, "batch_size"}}}};
  }
};

/// The text side alone, as in pipelines that generate images: these hide no padding.
class CLIPTextWithProjectionOnnxConfig : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override { return {{"input_ids", text}}; }
  NamedAxes outputs() const override {
    return with_hidden_states({{"text_embeds", {{0, "batch_size"}}}, {"last_hidden_state", text}});
  }

 protected:
  NamedAxes with_hidden_states(NamedAxes all) const {
    if (!config().get<bool>("output_hidden_states", false)) return all;
    for (int64_t i = 0; i <= normalized_config().size("num_layers"); ++i)
      all["hidden_states." + std::to_string(i)] = text;
    return all;
  }

 private:
  inline static const Axes text = {{0, "batch_size"}, {1, "sequence_length"}};
};

class CLIPTextOnnxConfig : public CLIPTextWithProjectionOnnxConfig {
 public:
  using CLIPTextWithProjectionOnnxConfig::CLIPTextWithProjectionOnnxConfig;
  NamedAxes outputs() const override {
    return with_hidden_states({{"last_hidden_state", {{0, "batch_size"}, {1, "sequence_length"}}},
                               {"pooler_output", {{0, "batch_size"}}}});
  }
};

/// Returns the config of a checkpoint of the text side alone: with and without projection have one model
/// type.
std::shared_ptr<OnnxConfig> make_clip_text(const ModelConfig& config, const OnnxConfigOptions& options) {
  const auto names = config.get<std::vector<std::string>>("architectures", {});
  const bool projected = std::ranges::find(names, "CLIPTextModelWithProjection") != names.end();
  return projected ? make_config<CLIPTextWithProjectionOnnxConfig>(config, options)
                   : make_config<CLIPTextOnnxConfig>(config, options);
}

}  // namespace

void register_configs_clip(TasksManager& tasks) {
  tasks.register_config<CLIPOnnxConfig>(
      "clip", {"feature-extraction", "zero-shot-image-classification", "image-classification"});
  tasks.register_config<SentenceTransformersCLIPOnnxConfig>("sentence_transformers/clip",
                                                            {"feature-extraction", "sentence-similarity"});
  tasks.register_config<CLIPVisionModelOnnxConfig>("clip_vision_model", {"feature-extraction"});
  tasks.register_config<CLIPTextOnnxConfig>("clip-text", {"feature-extraction"});
  tasks.register_config<CLIPTextWithProjectionOnnxConfig>("clip-text-with-projection",
                                                          {"feature-extraction"});
  tasks.register_config("clip_text_model", {"feature-extraction"}, &make_clip_text);
}

}  // namespace lathe::exporters
