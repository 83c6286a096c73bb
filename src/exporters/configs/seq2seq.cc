// Encoder-decoders of text: t5, bart and mbart; of sound: whisper.
#include "exporters/configs/tasks.h"
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

const std::vector<std::string> seq2seq_arguments = {"input_ids",         "attention_mask",
                                                    "decoder_input_ids", "decoder_attention_mask",
                                                    "encoder_outputs",   "past_key_values"};

class T5OnnxConfig : public TextSeq2SeqOnnxConfig {
 public:
  using TextSeq2SeqOnnxConfig::TextSeq2SeqOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    // Configurations of decoders that are as deep as their encoder lack the key.
    const bool deep = config().has("num_decoder_layers");
    return normalized_seq2seq_config().with_args(
        {{"hidden_size", "d_model"},
         {"num_attention_heads", "num_heads"},
         {"encoder_num_attention_heads", "num_heads"},
         {"decoder_num_attention_heads", "num_heads"},
         {"encoder_num_layers", "num_layers"},
         {"decoder_num_layers", deep ? "num_decoder_layers" : "num_layers"},
         {"key_value_dim", "d_kv"}},
        true);
  }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    return {"DummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator",
            "T5DummySeq2SeqPastKeyValuesGenerator"};
  }
  std::vector<std::string> forward_arguments() const override { return seq2seq_arguments; }
};

/// The encoder and decoder together, or the decoder alone as a generator of text, or, for the tasks of
/// encoders, both reading the same text.
class BartOnnxConfig : public TextSeq2SeqOnnxConfig {
 public:
  using TextSeq2SeqOnnxConfig::TextSeq2SeqOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    return normalized_seq2seq_config().with_args(
        {{"hidden_size", "d_model"},
         {"num_layers", "decoder_layers"},
         {"num_attention_heads", "decoder_attention_heads"},
         {"encoder_num_layers", "encoder_layers"},
         {"decoder_num_layers", "decoder_layers"},
         {"encoder_num_attention_heads", "encoder_attention_heads"},
         {"decoder_num_attention_heads", "decoder_attention_heads"}});
  }
  bool pad_attention_mask_to_past() const override { return task() == "text-generation"; }
  std::vector<DummyInputGeneratorClass> dummy_input_generator_classes() const override {
    if (task() == "text-generation") return {"DummyTextInputGenerator", "DummyPastKeyValuesGenerator"};
    return {"BartDummyTextInputGenerator", "DummySeq2SeqDecoderTextInputGenerator",
            "DummySeq2SeqPastKeyValuesGenerator"};
  }
  std::vector<std::string> forward_arguments() const override { return seq2seq_arguments; }

  NamedAxes inputs() const override {
    if (whole()) return TextSeq2SeqOnnxConfig::inputs();
    NamedAxes all = {{"input_ids", text()}, {"attention_mask", text()}};
    if (task() == "text-generation" && use_past_in_inputs()) {
      all["attention_mask"][1] = "past_sequence_length + sequence_length";
      OnnxConfigWithPast::add_past_key_values(all, PastDirection::inputs);
    }
    return all;
  }
  NamedAxes outputs() const override {
    if (whole()) return TextSeq2SeqOnnxConfig::outputs();
    NamedAxes all = OnnxConfig::outputs();
    if (use_past()) OnnxConfigWithPast::add_past_key_values(all, PastDirection::outputs);
    return all;
  }
  void flatten_past_key_values(Ordered<Tensor>& into, const std::string& name, size_t layer,
                               const std::vector<Tensor>& tensors) const override {
    if (whole()) return TextSeq2SeqOnnxConfig::flatten_past_key_values(into, name, layer, tensors);
    OnnxConfig::flatten_past_key_values(into, name, layer, tensors);
  }
  std::optional<std::pair<std::string, std::string>> merged_submodels() const override {
    return whole() ? TextSeq2SeqOnnxConfig::merged_submodels() : std::nullopt;
  }

 private:
  bool whole() const { return task() == "feature-extraction" || task() == "text2text-generation"; }
  static Axes text() { return {{0, "batch_size"}, {1, "sequence_length"}}; }
};

class WhisperOnnxConfig : public AudioToTextOnnxConfig {
 public:
  using AudioToTextOnnxConfig::AudioToTextOnnxConfig;
  NormalizedConfigKind normalized_config_kind() const override {
    return normalized_seq2seq_config().with_args({{"hidden_size", "d_model"},
                                                  {"num_layers", "decoder_layers"},
                                                  {"num_attention_heads", "decoder_attention_heads"},
                                                  {"encoder_num_layers", "encoder_layers"},
                                                  {"decoder_num_layers", "decoder_layers"},
                                                  {"encoder_num_attention_heads", "encoder_attention_heads"},
                                                  {"decoder_num_attention_heads", "decoder_attention_heads"},
                                                  {"feature_size", "num_mel_bins"}},
                                                 true);
  }
  std::vector<std::string> forward_arguments() const override {
    return {"input_features",         "attention_mask",  "decoder_input_ids",
            "decoder_attention_mask", "encoder_outputs", "past_key_values"};
  }
  /// Sound is always as long as the positions of the encoder.
  DummyInputs generate_dummy_inputs(const DummyShapes& shapes) const override {
    DummyShapes own = shapes;
    if (config().has("max_source_positions"))
      own.nb_max_frames = 2 * config().get<int64_t>("max_source_positions");
    return AudioToTextOnnxConfig::generate_dummy_inputs(own);
  }
  NamedAxes inputs() const override {
    if (task() == "audio-classification") return {{"input_features", {{0, "batch_size"}}}};
    NamedAxes all = AudioToTextOnnxConfig::inputs();
    if (all.contains("input_features")) all["input_features"] = {{0, "batch_size"}};
    return all;
  }
  NamedAxes outputs() const override {
    if (task() == "audio-classification") return {{"logits", {{0, "batch_size"}}}};
    NamedAxes all = AudioToTextOnnxConfig::outputs();
    if (behavior() == ConfigBehavior::encoder) all["last_hidden_state"] = {{0, "batch_size"}};
    if (behavior() == ConfigBehavior::monolith) all["encoder_last_hidden_state"] = {{0, "batch_size"}};
    return all;
  }
};

}  // namespace

void register_configs_seq2seq(TasksManager& tasks) {
  tasks.register_config<T5OnnxConfig>("t5", encoder_decoder_tasks);
  const auto bart =
      joined(joined(common_generation_tasks, {"text2text-generation", "text2text-generation-with-past"}),
             {"text-classification", "question-answering"});
  tasks.register_config<BartOnnxConfig>("bart", bart);
  tasks.register_config<BartOnnxConfig>("mbart", bart);
  tasks.register_config<WhisperOnnxConfig>(
      "whisper", {"feature-extraction", "feature-extraction-with-past", "audio-classification",
                  "automatic-speech-recognition", "automatic-speech-recognition-with-past"});
}

}  // namespace lathe::exporters
