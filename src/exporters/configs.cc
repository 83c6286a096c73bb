// The classes between OnnxConfig and the architectures.
#include "lathe/exporters/configs.h"

#include "lathe/error.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

const Axes text = {{0, "batch_size"}, {1, "sequence_length"}};
const Axes encoded = {{0, "batch_size"}, {1, "encoder_sequence_length"}};
const Axes decoded = {{0, "batch_size"}, {1, "decoder_sequence_length"}};

bool has_encoder(ConfigBehavior b) { return b != ConfigBehavior::decoder; }
bool has_decoder(ConfigBehavior b) { return b != ConfigBehavior::encoder; }

/// Adds the inputs that all encoder-decoders have besides the encoder's own input.
void add_decoder_inputs(NamedAxes& inputs, const OnnxSeq2SeqConfigWithPast& config) {
  if (!has_decoder(config.behavior())) return;
  inputs["decoder_input_ids"] = decoded;
  if (config.use_past_in_inputs()) config.add_past_key_values(inputs, PastDirection::inputs);
}

/// A decoder that gets keys and values of the encoder's output does not read the output itself.
void add_encoder_outputs(NamedAxes& inputs, const OnnxSeq2SeqConfigWithPast& config, bool kept = true) {
  if (!config.use_past_in_inputs() || !kept) inputs["encoder_outputs"] = encoded;
}

}  // namespace

NamedAxes TextDecoderOnnxConfig::inputs() const {
  NamedAxes all = {{"input_ids", text}, {"attention_mask", text}};
  if (!use_past_in_inputs()) return all;
  all["attention_mask"][1] = "past_sequence_length + sequence_length";
  add_past_key_values(all, PastDirection::inputs);
  return all;
}

NamedAxes TextDecoderWithPositionIdsOnnxConfig::inputs() const {
  NamedAxes all = TextDecoderOnnxConfig::inputs();
  if (task() == "text-generation" || task() == "feature-extraction") all["position_ids"] = text;
  return all;
}

NamedAxes TextSeq2SeqOnnxConfig::inputs() const {
  NamedAxes all;
  if (has_encoder(behavior()))
    all["input_ids"] = encoded;
  else
    add_encoder_outputs(all, *this);
  all["attention_mask"] = encoded;
  add_decoder_inputs(all, *this);
  return all;
}

NamedAxes AudioOnnxConfig::inputs() const { return {{"input_values", text}}; }

NamedAxes AudioToTextOnnxConfig::inputs() const {
  NamedAxes all;
  if (has_encoder(behavior()))
    all["input_features"] = {{0, "batch_size"}, {1, "feature_size"}, {2, "encoder_sequence_length"}};
  else
    add_encoder_outputs(all, *this);
  add_decoder_inputs(all, *this);
  return all;
}

// ── An encoder and a decoder that were not made for each other

EncoderDecoderBaseOnnxConfig::EncoderDecoderBaseOnnxConfig(ModelConfig config, OnnxConfigOptions options)
    : OnnxSeq2SeqConfigWithPast(std::move(config), std::move(options)) {
  const TasksManager& tasks = this->options().tasks ? *this->options().tasks : TasksManager::builtin();
  OnnxConfigOptions part;
  part.int_type = this->options().int_type;
  part.float_type = this->options().float_type;
  part.preprocessors = this->options().preprocessors;
  encoder_ = tasks.make(this->config().get<ModelConfig>("encoder"), "feature-extraction", part);
  const auto decoder = this->config().get<ModelConfig>("decoder");
  if (this->options().use_past) {
    const auto type = decoder.get<std::string>("model_type");
    if (!tasks.supports(type, "feature-extraction-with-past"))
      throw Error(Code::not_supported, "export", "a decoder that keeps keys and values", "'" + type + "'",
                  "export for a task without '-with-past'");
    part.use_past = true;
    part.use_past_in_inputs = this->options().use_past_in_inputs;
  }
  part.behavior = this->options().behavior;
  part.task = "feature-extraction";
  decoder_ = tasks.make(decoder, part.use_past ? "feature-extraction-with-past" : "feature-extraction", part);
}

NormalizedConfig EncoderDecoderBaseOnnxConfig::make_normalized_config() const {
  NormalizedConfig made = OnnxConfig::make_normalized_config();
  made.set_encoder(encoder_->normalized_config());
  made.set_decoder(decoder_->normalized_config());
  return made;
}

NamedAxes EncoderDecoderBaseOnnxConfig::inputs() const {
  NamedAxes all;
  if (has_encoder(behavior()))
    all["input_ids"] = encoded;
  else
    // A decoder that was made without an encoder keeps keys and values of its own tokens only.
    add_encoder_outputs(all, *this,
                        dynamic_cast<const OnnxSeq2SeqConfigWithPast*>(decoder_.get()) != nullptr);
  all["attention_mask"] = encoded;
  add_decoder_inputs(all, *this);
  return all;
}

void EncoderDecoderBaseOnnxConfig::add_past_key_values(NamedAxes& into, PastDirection direction) const {
  if (const auto* past = dynamic_cast<const OnnxConfigWithPast*>(decoder_.get()))
    past->add_past_key_values(into, direction);
}

void EncoderDecoderBaseOnnxConfig::flatten_past_key_values(Ordered<Tensor>& into, const std::string& name,
                                                           size_t layer,
                                                           const std::vector<Tensor>& tensors) const {
  decoder_->flatten_past_key_values(into, name, layer, tensors);
}

}  // namespace lathe::exporters
