// Decoders with a KV cache, alone and behind an encoder.
#include <algorithm>
#include <iterator>

#include "lathe/error.h"
#include "lathe/exporters/onnx_config.h"

namespace lathe::exporters {

NamedAxes OnnxConfigWithPast::outputs() const {
  NamedAxes all = OnnxConfig::outputs();
  // With a past, only text generation reads more than one position.
  if (use_past_in_inputs() && task() == "feature-extraction")
    all = {{"last_hidden_state", {{0, "batch_size"}}}};
  if (use_past()) add_past_key_values(all, PastDirection::outputs);
  return all;
}

std::map<std::string, std::string> OnnxConfigWithPast::values_override() const {
  if (config().has("use_cache")) return {{"use_cache", use_past() ? "true" : "false"}};
  return {};
}

void OnnxConfigWithPast::add_past_key_values(NamedAxes& into, PastDirection direction) const {
  const bool in = direction == PastDirection::inputs;
  const Axes axes = {{0, "batch_size"},
                     {2, in ? "past_sequence_length" : "past_sequence_length + sequence_length"}};
  for (int64_t i = 0; i < normalized_config().size("num_layers"); ++i)
    for (const char* half : {"key", "value"})
      into[(in ? "past_key_values." : "present.") + std::to_string(i) + "." + half] = axes;
}

DummyInput OnnxConfigWithPast::generate_input(DummyInputGenerator& generator, const std::string& name) const {
  const bool one_token = use_past() && use_past_in_inputs() && task() != "text-generation" &&
                         (name == "decoder_input_ids" || name == "input_ids" || name == "position_ids");
  if (!one_token) return OnnxConfig::generate_input(generator, name);
  const int64_t length = generator.shapes().sequence_length;
  generator.set_sequence_length(1);
  DummyInput made = OnnxConfig::generate_input(generator, name);
  generator.set_sequence_length(length);
  return made;
}

DummyInputs OnnxConfigWithPast::generate_dummy_inputs(const DummyShapes& shapes) const {
  DummyInputs made = OnnxConfig::generate_dummy_inputs(shapes);
  const DummyInput* past = made.find("past_key_values");
  if (!past || past->layers.empty() || !pad_attention_mask_to_past()) return made;
  const auto pad = [&](const char* mask, const char* ids) {
    if (!made.contains(mask) || !made.contains(ids)) return;
    const int64_t length = past->layers[0][1].dim(2) + made.find(ids)->tensor.dim(1);
    made[mask] = DummyInputGenerator::pad_input_on_dim(made[mask].tensor, 1, length);
  };
  pad("decoder_attention_mask", "decoder_input_ids");
  pad("attention_mask", "input_ids");
  return made;
}

std::vector<SubModel> OnnxConfigWithPast::submodels(bool monolith) const {
  if (task() != "text-generation" || monolith) return OnnxConfig::submodels(monolith);
  OnnxConfigOptions o = options();
  if (o.legacy && o.use_past) {
    o.use_past_in_inputs = false;
    std::vector<SubModel> both{{"decoder_model", with_options(o)}};
    o.use_past_in_inputs = true;
    both.push_back({"decoder_with_past_model", with_options(o)});
    return both;
  }
  o.use_past_in_inputs = o.use_past;
  return {{"model", with_options(o)}};
}

OnnxSeq2SeqConfigWithPast::OnnxSeq2SeqConfigWithPast(ModelConfig config, OnnxConfigOptions options)
    : OnnxConfigWithPast(std::move(config), std::move(options)) {
  if (behavior() != ConfigBehavior::encoder) return;
  change_options().task = "feature-extraction";
  change_options().use_past_in_inputs = false;
}

std::shared_ptr<OnnxConfig> OnnxSeq2SeqConfigWithPast::with_behavior(ConfigBehavior behavior, bool use_past,
                                                                     bool use_past_in_inputs) const {
  OnnxConfigOptions o = options();
  o.behavior = behavior;
  o.use_past = use_past;
  o.use_past_in_inputs = use_past_in_inputs;
  return with_options(o);
}

NamedAxes OnnxSeq2SeqConfigWithPast::outputs() const {
  NamedAxes all = OnnxConfig::outputs();
  for (auto& [name, axes] : all) {
    const bool encoder = behavior() == ConfigBehavior::encoder || name.find("encoder") != std::string::npos;
    for (auto& [axis, size] : axes)
      if (size.find("sequence") != std::string::npos)
        size = encoder ? "encoder_sequence_length" : "decoder_sequence_length";
  }
  if (use_past() && behavior() != ConfigBehavior::encoder) add_past_key_values(all, PastDirection::outputs);
  return all;
}

std::map<std::string, std::string> OnnxSeq2SeqConfigWithPast::torch_to_onnx_input_map() const {
  if (behavior() != ConfigBehavior::decoder) return {};
  return {{"decoder_input_ids", "input_ids"},
          {"decoder_attention_mask", "attention_mask"},
          {"encoder_outputs", "encoder_hidden_states"},
          {"attention_mask", "encoder_attention_mask"}};
}

void OnnxSeq2SeqConfigWithPast::add_past_key_values(NamedAxes& into, PastDirection direction) const {
  const bool in = direction == PastDirection::inputs;
  const std::string start = in ? "past_key_values." : "present.";
  const Axes decoded = {
      {0, "batch_size"},
      {2, in ? "past_decoder_sequence_length" : "past_decoder_sequence_length + decoder_sequence_length"}};
  const Axes encoded = {{0, "batch_size"}, {2, "encoder_sequence_length"}};
  // The encoder's keys and values do not change: a decoder that gets them does not return them.
  const bool crossed = in || (behavior() == ConfigBehavior::decoder && !use_past_in_inputs());
  for (int64_t i = 0; i < normalized_config().size("decoder_num_layers"); ++i) {
    const std::string layer = start + std::to_string(i);
    for (const char* half : {".decoder.key", ".decoder.value"}) into[layer + half] = decoded;
    if (!crossed) continue;
    for (const char* half : {".encoder.key", ".encoder.value"}) into[layer + half] = encoded;
  }
}

void OnnxSeq2SeqConfigWithPast::flatten_past_key_values(Ordered<Tensor>& into, const std::string& name,
                                                        size_t layer,
                                                        const std::vector<Tensor>& tensors) const {
  const std::string start = name + "." + std::to_string(layer);
  if (tensors.size() != 2 && tensors.size() != 4)
    throw Error(Code::bad_argument, "export", "two tensors of every layer, or four with the encoder's",
                std::to_string(tensors.size()) + " for '" + start + "'");
  constexpr const char* ends[] = {".decoder.key", ".decoder.value", ".encoder.key", ".encoder.value"};
  for (size_t i = 0; i < tensors.size(); ++i) into[start + ends[i]] = tensors[i];
}

std::vector<std::unique_ptr<DummyInputGenerator>> OnnxSeq2SeqConfigWithPast::create_dummy_input_generators(
    const DummyShapes& shapes) const {
  auto generators = OnnxConfigWithPast::create_dummy_input_generators(shapes);
  // The first generator makes the encoder's input and its mask.
  const bool encoded = behavior() != ConfigBehavior::monolith || inputs().contains("decoder_input_ids");
  if (encoded && shapes.encoder_sequence_length && !generators.empty())
    generators[0]->set_sequence_length(*shapes.encoder_sequence_length);
  return generators;
}

DummyInputs OnnxSeq2SeqConfigWithPast::generate_dummy_inputs_for_validation(
    DummyInputs inputs, const std::vector<std::string>& onnx_inputs) const {
  if (behavior() != ConfigBehavior::decoder) return inputs;
  const auto renamed = torch_to_onnx_input_map();
  DummyInputs all;
  for (const auto& [name, input] : inputs) {
    const auto at = renamed.find(name);
    const std::string& called = at == renamed.end() ? name : at->second;
    if (!input.layers.empty() || std::ranges::find(onnx_inputs, called) != onnx_inputs.end())
      all[called] = input;
  }
  return all;
}

std::vector<SubModel> OnnxSeq2SeqConfigWithPast::submodels(bool monolith) const {
  constexpr std::string_view split[] = {"automatic-speech-recognition", "document-question-answering",
                                        "image-to-text", "text2text-generation", "visual-question-answering"};
  const bool parts =
      std::ranges::find(split, task()) != std::end(split) || (task() == "feature-extraction" && use_past());
  if (!parts || monolith) return OnnxConfigWithPast::submodels(monolith);
  std::vector<SubModel> all{{"encoder_model", with_behavior(ConfigBehavior::encoder)},
                            {"decoder_model", with_behavior(ConfigBehavior::decoder, use_past(), false)}};
  if (use_past())
    all.push_back({"decoder_with_past_model", with_behavior(ConfigBehavior::decoder, true, true)});
  return all;
}

std::optional<std::pair<std::string, std::string>> OnnxSeq2SeqConfigWithPast::merged_submodels() const {
  if (!use_past()) return {};
  return std::pair<std::string, std::string>{"decoder_model", "decoder_with_past_model"};
}

}  // namespace lathe::exporters
