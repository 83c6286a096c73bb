// Decoders of text: gpt2, llama and its relatives.
#include "exporters/configs/tasks.h"
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

class GPT2OnnxConfig : public TextDecoderWithPositionIdsOnnxConfig {
 public:
  using TextDecoderWithPositionIdsOnnxConfig::TextDecoderWithPositionIdsOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    return normalized_text_config().with_args({{"num_layers", "n_layer"}, {"num_attention_heads", "n_head"}});
  }
  std::vector<std::string> forward_arguments() const override {
    return {"input_ids", "past_key_values", "attention_mask", "token_type_ids", "position_ids"};
  }
};

class LlamaOnnxConfig : public TextDecoderWithPositionIdsOnnxConfig {
 public:
  using TextDecoderWithPositionIdsOnnxConfig::TextDecoderWithPositionIdsOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override { return normalized_text_config_with_gqa(); }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "MistralDummyPastKeyValuesGenerator"};
  }
  std::vector<std::string> forward_arguments() const override {
    return {"input_ids", "attention_mask", "position_ids", "past_key_values"};
  }
};

class Gemma3OnnxConfig : public LlamaOnnxConfig {
 public:
  using LlamaOnnxConfig::LlamaOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    return normalized_text_config_with_gqa().with_defaults({{"head_dim", 256}, {"num_key_value_heads", 4}});
  }
};

}  // namespace

void register_configs_decoders(TasksManager& tasks) {
  const auto classified = joined(common_generation_tasks, {"text-classification"});
  const auto labeled = joined(classified, {"token-classification"});
  tasks.register_config<GPT2OnnxConfig>("gpt2", labeled);
  tasks.register_config<Gemma3OnnxConfig>("gemma3_text", common_generation_tasks);
  tasks.register_config<LlamaOnnxConfig>("llama", classified);
  tasks.register_config<LlamaOnnxConfig>("mistral", classified);
  tasks.register_config<LlamaOnnxConfig>("qwen2", labeled);
}

}  // namespace lathe::exporters
