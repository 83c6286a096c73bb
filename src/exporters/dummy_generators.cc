// Optimum's kinds of generators: their names, the inputs that they make, and how.
#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "lathe/error.h"
#include "lathe/exporters/dummy_inputs.h"
#include "tensor/element.h"

namespace lathe::exporters {
namespace {

/// A generator whose members are public for the functions that make inputs.
class Maker : public DummyInputGenerator {
 public:
  using DummyInputGenerator::config_;
  using DummyInputGenerator::draw;
  using DummyInputGenerator::DummyInputGenerator;
  using DummyInputGenerator::shapes_;
  using DummyInputGenerator::task_;
  DataType int_type = DataType::int64, float_type = DataType::float32;

  int64_t size(std::string_view word) const { return config_.size(word); }
  /// Returns numbers from 0 to below `high`.
  Tensor ints(const Shape& shape, int64_t high) {
    return random_int_tensor(bounded(shape), high, 0, int_type);
  }
  Tensor floats(const Shape& shape, double low = 0, double high = 1) {
    return random_float_tensor(bounded(shape), low, high, float_type);
  }
  Tensor mask(const Shape& shape) { return random_mask_tensor(bounded(shape), int_type); }
  /// Bounds the shape: sizes come from files, and inputs are made before sizes are compared with weights.
  static const Shape& bounded(const Shape& shape) {
    constexpr int64_t most = int64_t{1} << 30;
    if (checked_count(shape, DataType::float32, "a synthetic input") > most)
      throw Error(Code::bad_argument, "export",
                  "a synthetic input of at most " + std::to_string(most) + " numbers", describe(shape),
                  "correct the sizes in config.json or preprocessor_config.json, or ask for smaller ones");
    return shape;
  }

  int64_t batch() const { return shapes_.batch_size; }
  int64_t length() const { return shapes_.sequence_length; }
  int64_t past() const { return shapes_.past_sequence_length.value_or(length()); }
  int64_t encoded() const { return shapes_.encoder_sequence_length.value_or(length()); }
  /// A model without a vocabulary still takes some tokens.
  int64_t vocabulary() const { return config_.get<int64_t>("vocab_size", 2); }
};

using Make = DummyInput (*)(Maker& m, const std::string& name);
/// Called before the first input, to set sizes from other sources.
using Prepare = void (*)(Maker& m, const Preprocessors& p);

struct Kind {
  std::vector<std::pair<std::string, Make>> inputs;  // prefixes of names; the first match counts
  Prepare prepare = nullptr;
};

// ── Text

Shape tokens(const Maker& m) {
  const int64_t batch = m.shapes_.text_batch_size.value_or(m.batch());
  if (m.task_ == "multiple-choice") return {batch, m.shapes_.num_choices, m.length()};
  return {batch, m.length()};
}

DummyInput make_text(Maker& m, const std::string& name) {
  if (name == "attention_mask" || name == "encoder_attention_mask") return m.mask(tokens(m));
  if (name == "position_ids") return m.ints(tokens(m), m.length());
  return m.ints(tokens(m), name.ends_with("input_ids") ? m.vocabulary() : 2);
}

/// Every row has one end token: the classifier reads the last one of each, so all rows need as many.
DummyInput text_that_ends(Maker& m, const std::string& name) {
  DummyInput made = make_text(m, name);
  if (m.task_ != "text-classification" || name != "input_ids") return made;
  const int64_t end = m.size("eos_token_id"), length = made.tensor.dim(1);
  for (int64_t i = 0; i < made.tensor.size(); ++i)
    if (load_int(made.tensor, i) == end) store_int(made.tensor, i, end == 0 ? 1 : 0);
  for (int64_t row = 0; row < made.tensor.dim(0); ++row)
    store_int(made.tensor, row * length + static_cast<int64_t>(m.draw() % static_cast<uint64_t>(length)),
              end);
  return made;
}

DummyInput encoder_states(Maker& m, const std::string&) {
  const NormalizedConfig& config = m.config_.encoder() ? *m.config_.encoder() : m.config_;
  return m.floats({m.batch(), m.encoded(), config.size("hidden_size")});
}

/// Tokens of several code books are side by side in the batch.
DummyInput code_books(Maker& m, const std::string&) {
  const NormalizedConfig& config = m.config_.decoder() ? *m.config_.decoder() : m.config_;
  return m.ints({m.batch() * config.size("num_codebooks"), m.length()}, 2);
}

DummyInput xpath(Maker& m, const std::string& name) {
  return m.ints({m.batch(), m.length(), m.size("max_depth")},
                m.size(name == "xpath_tags_seq" ? "tag_pad_id" : "subs_pad_id"));
}

DummyInput decision(Maker& m, const std::string& name) {
  const Shape steps{m.batch(), m.length()};
  if (name == "timesteps") return m.ints(steps, m.size("max_ep_len"));
  if (name == "attention_mask") return m.floats(steps, -2, 2);
  const int64_t width = name == "states" ? m.size("state_dim") : name == "actions" ? m.size("act_dim") : 1;
  return m.floats({m.batch(), m.length(), width}, -2, 2);
}

// ── Keys and values

int64_t head_size(const NormalizedConfig& config, int64_t heads) {
  const int64_t hidden = config.size("hidden_size");
  if (heads < 1 || hidden % heads != 0)
    throw Error(Code::bad_argument, "export", "a hidden size that is a multiple of the attention heads",
                std::to_string(hidden) + " and " + std::to_string(heads) + " heads", "check config.json");
  return hidden / heads;
}
int64_t head_size(const Maker& m) { return head_size(m.config_, m.size("num_attention_heads")); }

DummyInput keys_and_values(Maker& m, const Shape& key, const Shape& value) {
  DummyInput made;
  for (int64_t i = 0; i < m.size("num_layers"); ++i) made.layers.push_back({m.floats(key), m.floats(value)});
  return made;
}
DummyInput keys_and_values(Maker& m, int64_t heads, int64_t size) {
  const Shape shape{m.batch(), heads, m.past(), size};
  return keys_and_values(m, shape, shape);
}

DummyInput past(Maker& m, const std::string&) {
  return keys_and_values(m, m.size("num_attention_heads"), head_size(m));
}
/// Heads share keys and values; head_dim gives their size if it is there.
DummyInput past_shared(Maker& m, const std::string&) {
  return keys_and_values(m, m.config_.get<int64_t>("num_key_value_heads", m.size("num_attention_heads")),
                         m.config_.has_attribute("head_dim") ? m.size("head_dim") : head_size(m));
}
DummyInput past_gemma(Maker& m, const std::string&) {
  return keys_and_values(m, m.size("num_key_value_heads"), m.size("head_dim"));
}
DummyInput past_big_code(Maker& m, const std::string&) {
  const bool one = m.config_.get<bool>("multi_query");
  return keys_and_values(m, one ? 1 : m.size("num_attention_heads"), head_size(m));
}
DummyInput past_falcon(Maker& m, const std::string&) {
  const bool several = m.config_.get<bool>("new_decoder_architecture") || !m.config_.get<bool>("multi_query");
  return keys_and_values(m, several ? m.size("num_kv_heads") : 1, head_size(m));
}
/// One part of a key's head is rotated, the other is not; a value's head has another size.
DummyInput past_deep_seek(Maker& m, const std::string&) {
  const int64_t heads = m.size("num_attention_heads"),
                key = m.size("qk_rope_head_dim") + m.size("qk_nope_head_dim");
  return keys_and_values(m, {m.batch(), heads, m.past(), key},
                         {m.batch(), heads, m.past(), m.size("v_head_dim")});
}
/// The heads are side by side in the batch.
DummyInput past_flat(Maker& m, const std::string&) {
  const Shape shape{m.batch() * m.size("num_kv_heads"), m.past(), head_size(m)};
  return keys_and_values(m, shape, shape);
}

const NormalizedConfig& decoder_of(const Maker& m) {
  return m.config_.decoder() ? *m.config_.decoder() : m.config_;
}
bool has_own_words(const NormalizedConfig& decoder) { return decoder.kind().knows("decoder_num_layers"); }

/// Returns for every layer key and value of the decoder, then of the encoder. Cross attention has the
/// decoder's heads, because the decoder projects the encoder's output.
DummyInput past_of_two(Maker& m, int64_t heads, int64_t size) {
  const NormalizedConfig& decoder = decoder_of(m);
  const Shape decoded{m.batch(), heads, m.past(), size}, crossed{m.batch(), heads, m.encoded(), size};
  DummyInput made;
  for (int64_t i = 0; i < decoder.size(has_own_words(decoder) ? "decoder_num_layers" : "num_layers"); ++i)
    made.layers.push_back({m.floats(decoded), m.floats(decoded), m.floats(crossed), m.floats(crossed)});
  return made;
}
int64_t decoder_heads(const Maker& m) {
  const NormalizedConfig& decoder = decoder_of(m);
  return decoder.size(decoder.kind().knows("decoder_num_attention_heads") ? "decoder_num_attention_heads"
                                                                          : "num_attention_heads");
}
DummyInput past_seq2seq(Maker& m, const std::string&) {
  return past_of_two(m, decoder_heads(m), head_size(decoder_of(m), decoder_heads(m)));
}
DummyInput past_t5(Maker& m, const std::string&) {
  return past_of_two(m, decoder_heads(m), m.size("key_value_dim"));
}
/// A decoder that was made without an encoder keeps its own keys and values only.
DummyInput past_vision_encoder_decoder(Maker& m, const std::string& name) {
  DummyInput made = past_seq2seq(m, name);
  if (!has_own_words(decoder_of(m)))
    for (auto& layer : made.layers) layer.resize(2);
  return made;
}

// ── Images

/// The model's own sizes take precedence over requested ones: many models take nothing else.
void size_images(Maker& m, const Preprocessors&) {
  m.shapes_.num_channels = m.config_.get<int64_t>("num_channels", m.shapes_.num_channels);
  std::vector<int64_t> image;
  if (m.config_.has_attribute("image_size")) {
    image = m.config_.sizes("image_size");
  } else if (m.config_.has_attribute("input_size")) {
    image = m.config_.sizes("input_size");
    if (!image.empty()) m.shapes_.num_channels = image[0], image.erase(image.begin());
  }
  if (image.empty()) return;
  m.shapes_.height = image.front();
  m.shapes_.width = image.back();
}
/// Uses the sizes of the preprocessor as well.
void size_images_by(Maker& m, const Preprocessors& p, const std::string& key) {
  size_images(m, p);
  if (!p.preprocessor || !p.preprocessor->has(key)) return;
  m.shapes_.height = p.preprocessor->get<int64_t>(key + ".height", m.shapes_.height);
  m.shapes_.width = p.preprocessor->get<int64_t>(key + ".width", m.shapes_.width);
}
void size_cropped(Maker& m, const Preprocessors& p) { size_images_by(m, p, "crop_size"); }
void size_static(Maker& m, const Preprocessors& p) { size_images_by(m, p, "size"); }

DummyInput make_image(Maker& m, const std::string& name) {
  const DummyShapes& s = m.shapes_;
  if (name == "pixel_mask") return m.ints({m.batch(), s.height, s.width}, 1);
  if (name == "visual_attention_mask") return m.mask({m.batch(), s.visual_seq_length});
  if (name == "visual_token_type_ids") return m.ints({m.batch(), s.visual_seq_length}, 1);
  if (name == "visual_embeds")
    return m.floats({m.batch(), s.visual_seq_length, m.config_.get<int64_t>("visual_embedding_dim", 512)});
  return m.floats({m.batch(), s.num_channels, s.height, s.width});
}

DummyInput points(Maker& m, const std::string& name) {
  const DummyShapes& s = m.shapes_;
  if (name == "input_points") return m.floats({m.batch(), s.point_batch_size, s.nb_points_per_image, 2});
  return m.ints({m.batch(), s.point_batch_size, s.nb_points_per_image}, 1);
}

DummyInput image_embeddings(Maker& m, const std::string&) {
  const int64_t side = m.size("prompt_encoder_config.image_embedding_size");
  return m.floats({m.batch(), m.size("vision_config.output_channels"), side, side});
}

void size_patches(Maker& m, const Preprocessors& p) {
  if (!p.preprocessor)
    throw Error(Code::bad_argument, "export",
                "a preprocessor_config.json that says patch_size and max_patches", "none",
                "it belongs beside config.json");
  const auto& processor = *p.preprocessor;
  // A patch has its position and its pixels.
  m.shapes_.feature_size = 2 + processor.get<int64_t>("patch_size.height") *
                                   processor.get<int64_t>("patch_size.width") * m.shapes_.num_channels;
  m.shapes_.visual_seq_length = processor.get<int64_t>("max_patches");
}
DummyInput patches(Maker& m, const std::string&) {
  return m.floats({m.batch(), m.shapes_.visual_seq_length, m.shapes_.feature_size});
}

// ── Sound

DummyInput wave(Maker& m, const std::string&) {
  return m.floats({m.batch(), m.shapes_.audio_sequence_length}, -1, 1);
}
DummyInput wave_mask(Maker& m, const std::string&) {
  return m.mask({m.batch(), m.shapes_.audio_sequence_length});
}
DummyInput spectrum(Maker& m, const std::string&) {
  const int64_t features = m.config_.get<int64_t>("feature_size", m.shapes_.feature_size);
  return m.floats({m.batch(), features, m.shapes_.nb_max_frames}, -1, 1);
}
/// Spectrogram frames, with the features in the last axis.
DummyInput frames(Maker& m, const std::string&) {
  return m.floats({m.batch(), m.shapes_.audio_sequence_length, m.size("input_features_per_channel")}, -1, 1);
}
DummyInput mel_frames(Maker& m, const std::string&) {
  return m.floats({m.batch(), m.size("max_length"), m.size("num_mel_bins")}, -1, 1);
}

void one_speaker(Maker& m, const Preprocessors&) { m.shapes_.batch_size = 1; }
DummyInput speech(Maker& m, const std::string& name) {
  if (name == "speaker_embeddings") return m.floats({m.batch(), m.size("speaker_embedding_dim")});
  constexpr int64_t some = 20;  // as long as speech is
  if (name == "spectrogram") return m.floats({some, m.size("num_mel_bins")});
  return m.floats({m.batch(), m.length(), m.size("num_mel_bins")});
}

DummyInput audio_codes(Maker& m, const std::string&) {
  return m.ints({1, m.batch(), m.size("decoder.num_codebooks"), m.length()}, 50);
}

// ── Pipelines that generate images

DummyInput timestep(Maker& m, const std::string&) {
  return m.floats({}, 0, static_cast<double>(m.vocabulary()));
}
DummyInput timesteps(Maker& m, const std::string&) {
  return m.floats({m.batch()}, 0, static_cast<double>(m.vocabulary()));
}
DummyInput condition(Maker& m, const std::string& name) {
  int64_t width = m.config_.get<bool>("requires_aesthetics_score", false) ? 5 : 6;
  if (name == "text_embeds") width = m.size("text_encoder_projection_dim");
  if (name == "timestep_cond") width = m.size("time_cond_proj_dim");
  return m.floats({m.batch(), width}, 0, static_cast<double>(m.vocabulary()));
}
DummyInput pooled(Maker& m, const std::string&) { return m.floats({m.batch(), m.size("projection_size")}); }
DummyInput guidance(Maker& m, const std::string&) { return m.floats({m.batch()}); }
/// Two by two pixels are one token.
int64_t image_tokens(const Maker& m) { return (m.shapes_.height / 2) * (m.shapes_.width / 2); }
DummyInput packed_image(Maker& m, const std::string&) {
  return m.floats({m.batch(), image_tokens(m), m.shapes_.num_channels});
}
DummyInput image_position_ids(Maker& m, const std::string&) { return m.ints({image_tokens(m), 3}, 1); }
DummyInput text_position_ids(Maker& m, const std::string&) { return m.ints({m.length(), 3}, 1); }

// ── Others

DummyInput boxes(Maker& m, const std::string&) { return m.ints({m.batch(), m.length(), 4}, 1); }
DummyInput labels(Maker& m, const std::string&) { return m.ints({m.batch()}, 1); }
DummyInput cache_position(Maker& m, const std::string&) { return m.ints({1}, m.length()); }
DummyInput twenty_or_more(Maker& m, const std::string&) {
  return m.random_int_tensor({1}, 22, 20, m.int_type);
}
DummyInput series(Maker& m, const std::string&) {
  return m.floats({m.batch(), m.size("context_length"), m.size("num_input_channels")}, -1, 1);
}
DummyInput nothing_global(Maker& m, const std::string&) {
  return DummyInputGenerator::constant_tensor(tokens(m), 0, m.int_type);
}

const std::map<std::string, Kind, std::less<>>& generator_kinds() {
  static const std::vector<std::pair<std::string, Make>> images = {{"pixel_values", make_image},
                                                                   {"pixel_mask", make_image},
                                                                   {"sample", make_image},
                                                                   {"latent_sample", make_image},
                                                                   {"visual_embeds", make_image},
                                                                   {"visual_token_type_ids", make_image},
                                                                   {"visual_attention_mask", make_image}};
  static const auto texts = [](Make make) {
    return std::vector<std::pair<std::string, Make>>{{"input_ids", make},
                                                     {"attention_mask", make},
                                                     {"encoder_attention_mask", make},
                                                     {"global_attention_mask", make},
                                                     {"token_type_ids", make},
                                                     {"position_ids", make}};
  };
  static const std::map<std::string, Kind, std::less<>> all = {
      {"DummyTextInputGenerator", {texts(make_text)}},
      {"BartDummyTextInputGenerator", {texts(text_that_ends)}},
      {"LongformerDummyTextInputGenerator",
       {{{"input_ids", make_text},
         {"attention_mask", make_text},
         {"token_type_ids", make_text},
         {"global_attention_mask", nothing_global}}}},
      {"DummyXPathSeqInputGenerator", {{{"xpath_tags_seq", xpath}, {"xpath_subs_seq", xpath}}}},
      {"DummyDecoderTextInputGenerator",
       {{{"decoder_input_ids", make_text}, {"decoder_attention_mask", make_text}}}},
      {"DummySeq2SeqDecoderTextInputGenerator",
       {{{"decoder_input_ids", make_text},
         {"decoder_attention_mask", make_text},
         {"encoder_outputs", encoder_states},
         {"encoder_hidden_states", encoder_states}}}},
      {"DummyCodegenDecoderTextInputGenerator",
       {{{"decoder_input_ids", code_books},
         {"decoder_attention_mask", make_text},
         {"encoder_outputs", encoder_states},
         {"encoder_hidden_states", encoder_states}}}},
      {"DummyDecisionTransformerInputGenerator",
       {{{"states", decision},
         {"actions", decision},
         {"timesteps", decision},
         {"returns_to_go", decision},
         {"attention_mask", decision}}}},
      {"DummyBboxInputGenerator", {{{"bbox", boxes}}}},
      {"DummyLabelsGenerator",
       {{{"labels", labels}, {"start_positions", labels}, {"end_positions", labels}}}},
      {"DummyIntGenerator", {{{"pad_token_id", twenty_or_more}, {"max_length", twenty_or_more}}}},

      {"DummyPastKeyValuesGenerator", {{{"past_key_values", past}}}},
      {"BloomDummyPastKeyValuesGenerator", {{{"past_key_values", past}}}},
      {"GPTBigCodeDummyPastKeyValuesGenerator", {{{"past_key_values", past_big_code}}}},
      {"DeepSeekV3DummyPastKeyValuesGenerator", {{{"past_key_values", past_deep_seek}}}},
      {"MultiQueryPastKeyValuesGenerator", {{{"past_key_values", past_flat}}}},
      {"FalconDummyPastKeyValuesGenerator", {{{"past_key_values", past_falcon}}}},
      {"MistralDummyPastKeyValuesGenerator", {{{"past_key_values", past_shared}}}},
      {"GemmaDummyPastKeyValuesGenerator", {{{"past_key_values", past_gemma}}}},
      {"DummySeq2SeqPastKeyValuesGenerator",
       {{{"past_key_values", past_seq2seq}, {"cache_position", cache_position}}}},
      {"T5DummySeq2SeqPastKeyValuesGenerator",
       {{{"past_key_values", past_t5}, {"cache_position", cache_position}}}},
      {"DummyVisionEncoderDecoderPastKeyValuesGenerator",
       {{{"past_key_values", past_vision_encoder_decoder}, {"cache_position", cache_position}}}},

      {"DummyVisionInputGenerator", {images, size_images}},
      {"Dinov2DummyInputGenerator", {images, size_cropped}},
      {"DummyVisionStaticInputGenerator", {images, size_static}},
      {"PerceiverDummyInputGenerator", {images, size_static}},
      {"VitPoseDummyInputGenerator", {images, size_static}},
      {"DummyPointsGenerator", {{{"input_points", points}, {"input_labels", points}}}},
      {"DummyVisionEmbeddingsGenerator",
       {{{"image_positional_embeddings", image_embeddings}, {"image_embeddings", image_embeddings}}}},
      {"DummyPix2StructInputGenerator", {{{"flattened_patches", patches}}, size_patches}},

      {"DummyAudioInputGenerator", {{{"input_features", spectrum}, {"input_values", wave}}}},
      {"ASTDummyAudioInputGenerator", {{{"input_features", spectrum}, {"input_values", mel_frames}}}},
      {"MCTCTDummyAudioInputGenerator", {{{"input_features", frames}, {"input_values", wave}}}},
      {"Speech2TextDummyAudioInputGenerator", {{{"input_features", frames}, {"input_values", wave}}}},
      {"DummyMoonshineAudioInputGenerator", {{{"input_values", wave}, {"attention_mask", wave_mask}}}},
      {"DummySpeechT5InputGenerator",
       {{{"output_sequence", speech}, {"speaker_embeddings", speech}, {"spectrogram", speech}}, one_speaker}},
      {"DummyEncodecInputGenerator", {{{"audio_codes", audio_codes}}}},

      {"DummyTimestepInputGenerator",
       {{{"timestep_cond", condition},
         {"timestep", timestep},
         {"text_embeds", condition},
         {"time_ids", condition}}}},
      {"DummyTransformerTimestepInputGenerator", {{{"timestep", timesteps}}}},
      {"DummyTransformerVisionInputGenerator", {{{"hidden_states", make_image}}, size_images}},
      {"DummyTransformerTextInputGenerator",
       {{{"encoder_hidden_states", encoder_states}, {"pooled_projection", pooled}}}},
      {"DummySanaTransforemerTextInputGenerator",
       {{{"encoder_hidden_states", encoder_states}, {"encoder_attention_mask", make_text}}}},
      {"DummyFluxTransformerVisionInputGenerator",
       {{{"hidden_states", packed_image}, {"img_ids", image_position_ids}}, size_images}},
      {"DummyFluxTransformerTextInputGenerator",
       {{{"encoder_hidden_states", encoder_states},
         {"pooled_projections", pooled},
         {"guidance", guidance},
         {"txt_ids", text_position_ids}}}},
      {"DummyPatchTSTInputGenerator", {{{"past_values", series}}}},
  };
  return all;
}

/// A generator of a kind.
class KindGenerator final : public Maker {
 public:
  KindGenerator(const Kind& kind, const std::string& task, const NormalizedConfig& config,
                const DummyShapes& shapes, const Preprocessors& preprocessors)
      : Maker(task, config, shapes), kind_(kind) {
    if (kind_.prepare) kind_.prepare(*this, preprocessors);
  }
  std::vector<std::string> supported_input_names() const override {
    std::vector<std::string> names;
    for (const auto& [start, make] : kind_.inputs) names.push_back(start);
    return names;
  }
  DummyInput generate(const std::string& name, DataType ints, DataType floats) override {
    int_type = ints, float_type = floats;
    for (const auto& [start, make] : kind_.inputs)
      if (name.starts_with(start)) return make(*this, name);
    throw Error(Code::bad_argument, "export", "a name that begins as one of the generator's",
                "'" + name + "'");
  }

 private:
  const Kind& kind_;
};

}  // namespace

DummyInputGeneratorClass::DummyInputGeneratorClass(const char* name) {
  const auto at = generator_kinds().find(name);
  if (at == generator_kinds().end()) {
    const auto near = nearest_names(name, dummy_input_generators());
    throw Error(Code::not_supported, "export", "a generator of synthetic inputs",
                "'" + std::string(name) + "'",
                near.empty() ? "derive one from DummyInputGenerator" : "near to it: '" + near[0] + "'");
  }
  make_ = [kind = &at->second](const std::string& task, const NormalizedConfig& config,
                               const DummyShapes& shapes, const Preprocessors& preprocessors) {
    return std::make_unique<KindGenerator>(*kind, task, config, shapes, preprocessors);
  };
}

std::vector<std::string> dummy_input_generators() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : generator_kinds()) names.push_back(name);
  return names;
}

}  // namespace lathe::exporters
