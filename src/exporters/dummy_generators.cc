// The kinds of generators, by what they feed.
#include <algorithm>

#include "lathe/error.h"
#include "lathe/exporters/dummy_inputs.h"
#include "tensor/element.h"

namespace lathe::exporters {
namespace {

/// A model without tokens of its own still takes some.
int64_t vocabulary(const NormalizedConfig& config) { return config.get<int64_t>("vocab_size", 2); }

int64_t divided(const NormalizedConfig& config, int64_t heads) {
  const int64_t hidden = config.size("hidden_size");
  if (heads < 1 || hidden % heads != 0)
    throw Error(Code::bad_argument, "export", "a hidden size that is a multiple of the attention heads",
                std::to_string(hidden) + " and " + std::to_string(heads) + " heads", "check config.json");
  return hidden / heads;
}

}  // namespace

// ── Text

std::vector<std::string> DummyTextInputGenerator::supported_input_names() const {
  return {"input_ids",      "attention_mask", "encoder_attention_mask", "global_attention_mask",
          "token_type_ids", "position_ids"};
}

DummyInput DummyTextInputGenerator::generate(const std::string& name, DataType int_type, DataType) {
  const Shape shape = task_ == "multiple-choice"
                          ? Shape{shapes_.batch_size, shapes_.num_choices, shapes_.sequence_length}
                          : Shape{shapes_.batch_size, shapes_.sequence_length};
  if (name == "attention_mask" || name == "encoder_attention_mask") return random_mask_tensor(shape, int_type);
  int64_t high = 2;
  if (name == "position_ids") high = shapes_.sequence_length;
  if (name.ends_with("input_ids")) high = vocabulary(config_);
  return random_int_tensor(shape, high, 0, int_type);
}

DummyInput BartDummyTextInputGenerator::generate(const std::string& name, DataType int_type,
                                                 DataType float_type) {
  DummyInput made = DummyTextInputGenerator::generate(name, int_type, float_type);
  if (task_ != "text-classification" || name != "input_ids") return made;
  // The classifier reads the last end of a text: all rows must have as many of them.
  const int64_t end = config_.size("eos_token_id"), length = made.tensor.dim(1);
  for (int64_t i = 0; i < made.tensor.size(); ++i)
    if (load_int(made.tensor, i) == end) store_int(made.tensor, i, end == 0 ? 1 : 0);
  for (int64_t row = 0; row < made.tensor.dim(0); ++row)
    store_int(made.tensor, row * length + static_cast<int64_t>(draw() % static_cast<uint64_t>(length)), end);
  return made;
}

std::vector<std::string> DummyDecoderTextInputGenerator::supported_input_names() const {
  return {"decoder_input_ids", "decoder_attention_mask"};
}

std::vector<std::string> DummySeq2SeqDecoderTextInputGenerator::supported_input_names() const {
  return {"decoder_input_ids", "decoder_attention_mask", "encoder_outputs", "encoder_hidden_states"};
}

DummyInput DummySeq2SeqDecoderTextInputGenerator::generate(const std::string& name, DataType int_type,
                                                           DataType float_type) {
  if (name != "encoder_outputs" && name != "encoder_hidden_states")
    return DummyTextInputGenerator::generate(name, int_type, float_type);
  const int64_t hidden =
      config_.encoder() ? config_.encoder()->size("hidden_size") : config_.size("hidden_size");
  const int64_t length = shapes_.encoder_sequence_length.value_or(shapes_.sequence_length);
  return random_float_tensor({shapes_.batch_size, length, hidden}, 0, 1, float_type);
}

std::vector<std::string> DummyBboxInputGenerator::supported_input_names() const { return {"bbox"}; }
DummyInput DummyBboxInputGenerator::generate(const std::string&, DataType int_type, DataType) {
  return random_int_tensor({shapes_.batch_size, shapes_.sequence_length, 4}, 1, 0, int_type);
}

std::vector<std::string> DummyLabelsGenerator::supported_input_names() const {
  return {"labels", "start_positions", "end_positions"};
}
DummyInput DummyLabelsGenerator::generate(const std::string&, DataType int_type, DataType) {
  return random_int_tensor({shapes_.batch_size}, 1, 0, int_type);
}

std::vector<std::string> DummyIntGenerator::supported_input_names() const {
  return {"pad_token_id", "max_length"};
}
DummyInput DummyIntGenerator::generate(const std::string&, DataType int_type, DataType) {
  return random_int_tensor({1}, 22, 20, int_type);
}

// ── Keys and values

std::vector<std::string> DummyPastKeyValuesGenerator::supported_input_names() const {
  return {"past_key_values"};
}
int64_t DummyPastKeyValuesGenerator::heads() const { return config_.size("num_attention_heads"); }
int64_t DummyPastKeyValuesGenerator::head_size() const {
  return divided(config_, config_.size("num_attention_heads"));
}

DummyInput DummyPastKeyValuesGenerator::generate(const std::string&, DataType, DataType float_type) {
  const Shape shape{shapes_.batch_size, heads(), shapes_.past_sequence_length.value_or(shapes_.sequence_length),
                    head_size()};
  DummyInput made;
  for (int64_t i = 0; i < config_.size("num_layers"); ++i)
    made.layers.push_back(
        {random_float_tensor(shape, 0, 1, float_type), random_float_tensor(shape, 0, 1, float_type)});
  return made;
}

int64_t MistralDummyPastKeyValuesGenerator::heads() const {
  return config_.get<int64_t>("num_key_value_heads", DummyPastKeyValuesGenerator::heads());
}
int64_t MistralDummyPastKeyValuesGenerator::head_size() const {
  return config_.has_attribute("head_dim") ? config_.size("head_dim")
                                           : DummyPastKeyValuesGenerator::head_size();
}

std::vector<std::string> DummySeq2SeqPastKeyValuesGenerator::supported_input_names() const {
  return {"past_key_values", "cache_position"};
}
const NormalizedConfig& DummySeq2SeqPastKeyValuesGenerator::decoder() const {
  return config_.decoder() ? *config_.decoder() : config_;
}
int64_t DummySeq2SeqPastKeyValuesGenerator::layers() const {
  return decoder().size(decoder().kind().knows("decoder_num_layers") ? "decoder_num_layers" : "num_layers");
}
int64_t DummySeq2SeqPastKeyValuesGenerator::head_size(int64_t heads) const { return divided(decoder(), heads); }

DummyInput DummySeq2SeqPastKeyValuesGenerator::generate(const std::string& name, DataType int_type,
                                                        DataType float_type) {
  if (name == "cache_position") return random_int_tensor({1}, shapes_.sequence_length, 0, int_type);
  const int64_t past = shapes_.past_sequence_length.value_or(shapes_.sequence_length);
  const int64_t encoded = shapes_.encoder_sequence_length.value_or(shapes_.sequence_length);
  const int64_t heads = decoder().size(
      decoder().kind().knows("decoder_num_attention_heads") ? "decoder_num_attention_heads" : "num_attention_heads");
  const Shape decoded{shapes_.batch_size, heads, past, head_size(heads)};
  // Cross attention has the decoder's heads: it is the decoder that projects what the encoder gives.
  const Shape crossed{shapes_.batch_size, heads, encoded, head_size(heads)};
  DummyInput made;
  for (int64_t i = 0; i < layers(); ++i) {
    std::vector<Tensor> layer;
    for (const Shape& shape : {decoded, decoded, crossed, crossed})
      layer.push_back(random_float_tensor(shape, 0, 1, float_type));
    made.layers.push_back(std::move(layer));
  }
  return made;
}

int64_t T5DummySeq2SeqPastKeyValuesGenerator::head_size(int64_t) const { return config_.size("key_value_dim"); }

DummyInput DummyVisionEncoderDecoderPastKeyValuesGenerator::generate(const std::string& name, DataType int_type,
                                                                     DataType float_type) {
  DummyInput made = DummySeq2SeqPastKeyValuesGenerator::generate(name, int_type, float_type);
  if (!decoder().kind().knows("decoder_num_layers"))
    for (auto& layer : made.layers) layer.resize(2);
  return made;
}

// ── Images, sound, series

DummyVisionInputGenerator::DummyVisionInputGenerator(std::string task, NormalizedConfig config,
                                                     const DummyShapes& shapes)
    : DummyInputGenerator(std::move(task), std::move(config), shapes) {
  // What the model was made for goes before what somebody asks for: many take nothing else.
  shapes_.num_channels = config_.get<int64_t>("num_channels", shapes.num_channels);
  std::vector<int64_t> image;
  if (config_.has_attribute("image_size")) {
    image = config_.sizes("image_size");
  } else if (config_.has_attribute("input_size")) {
    image = config_.sizes("input_size");
    if (!image.empty()) shapes_.num_channels = image[0], image.erase(image.begin());
  }
  if (image.empty()) return;
  shapes_.height = image.front();
  shapes_.width = image.back();
}

std::vector<std::string> DummyVisionInputGenerator::supported_input_names() const {
  return {"pixel_values",  "pixel_mask",           "sample", "latent_sample", "visual_embeds",
          "visual_token_type_ids", "visual_attention_mask"};
}

DummyInput DummyVisionInputGenerator::generate(const std::string& name, DataType int_type,
                                               DataType float_type) {
  const int64_t batch = shapes_.batch_size, seen = shapes_.visual_seq_length;
  if (name == "pixel_mask") return random_int_tensor({batch, shapes_.height, shapes_.width}, 1, 0, int_type);
  if (name == "visual_attention_mask") return random_mask_tensor({batch, seen}, int_type);
  if (name == "visual_token_type_ids") return random_int_tensor({batch, seen}, 1, 0, int_type);
  if (name == "visual_embeds")
    return random_float_tensor({batch, seen, config_.get<int64_t>("visual_embedding_dim", 512)}, 0, 1,
                               float_type);
  return random_float_tensor({batch, shapes_.num_channels, shapes_.height, shapes_.width}, 0, 1, float_type);
}

std::vector<std::string> DummyAudioInputGenerator::supported_input_names() const {
  return {"input_features", "input_values"};
}
DummyInput DummyAudioInputGenerator::generate(const std::string& name, DataType, DataType float_type) {
  if (name == "input_values")
    return random_float_tensor({shapes_.batch_size, shapes_.audio_sequence_length}, -1, 1, float_type);
  const int64_t features = config_.get<int64_t>("feature_size", shapes_.feature_size);
  return random_float_tensor({shapes_.batch_size, features, shapes_.nb_max_frames}, -1, 1, float_type);
}

std::vector<std::string> DummyTimestepInputGenerator::supported_input_names() const {
  return {"timestep", "text_embeds", "time_ids", "timestep_cond"};
}
DummyInput DummyTimestepInputGenerator::generate(const std::string& name, DataType, DataType float_type) {
  const auto high = static_cast<double>(vocabulary(config_));
  if (name == "timestep") return random_float_tensor({}, 0, high, float_type);
  int64_t width = config_.get<bool>("requires_aesthetics_score", false) ? 5 : 6;
  if (name == "text_embeds") width = config_.size("text_encoder_projection_dim");
  if (name == "timestep_cond") width = config_.size("time_cond_proj_dim");
  return random_float_tensor({shapes_.batch_size, width}, 0, high, float_type);
}

std::vector<std::string> DummyPointsGenerator::supported_input_names() const {
  return {"input_points", "input_labels"};
}
DummyInput DummyPointsGenerator::generate(const std::string& name, DataType int_type, DataType float_type) {
  const int64_t batch = shapes_.batch_size, points = shapes_.nb_points_per_image;
  if (name == "input_points")
    return random_float_tensor({batch, shapes_.point_batch_size, points, 2}, 0, 1, float_type);
  return random_int_tensor({batch, shapes_.point_batch_size, points}, 1, 0, int_type);
}

std::vector<std::string> DummyPatchTSTInputGenerator::supported_input_names() const { return {"past_values"}; }
DummyInput DummyPatchTSTInputGenerator::generate(const std::string&, DataType, DataType float_type) {
  return random_float_tensor(
      {shapes_.batch_size, config_.size("context_length"), config_.size("num_input_channels")}, -1, 1,
      float_type);
}

}  // namespace lathe::exporters
