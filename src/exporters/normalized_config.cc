#include "lathe/exporters/normalized_config.h"

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "lathe/error.h"

namespace lathe::exporters {

struct NormalizedConfigKind::Parts {
  std::string name;
  Names names;
  Defaults defaults;
  std::string text, vision;  // objects that the words of the two lie in
  bool lists_as_zero = false;
};

namespace {

constexpr std::array text_words = {"vocab_size", "hidden_size", "num_layers", "num_attention_heads",
                                   "eos_token_id"};
constexpr std::array vision_words = {"image_size", "num_channels", "input_size"};

template <class List>
bool is_among(const List& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// Returns the names that an architecture has for sizes in its own config.json.
const NormalizedConfigKind::Names* own_names(std::string_view model_type) {
  using Names = NormalizedConfigKind::Names;
  static const Names gpt2 = {{"hidden_size", "n_embd"},
                             {"max_position_embeddings", "n_positions"},
                             {"num_attention_heads", "n_head"},
                             {"num_hidden_layers", "n_layer"}};
  static const Names distilbert = {
      {"hidden_size", "dim"}, {"num_attention_heads", "n_heads"}, {"num_hidden_layers", "n_layers"}};
  static const Names t5 = {{"hidden_size", "d_model"},
                           {"num_attention_heads", "num_heads"},
                           {"num_hidden_layers", "num_layers"},
                           {"head_dim", "d_kv"}};
  static const Names bart = {{"hidden_size", "d_model"},
                             {"num_attention_heads", "encoder_attention_heads"},
                             {"num_hidden_layers", "encoder_layers"}};
  static const Names swin = {{"num_attention_heads", "num_heads"}, {"num_hidden_layers", "num_layers"}};
  static const std::map<std::string, const Names*, std::less<>> all = {
      {"gpt2", &gpt2},    {"distilbert", &distilbert},
      {"t5", &t5},        {"mt5", &t5},
      {"bart", &bart},    {"mbart", &bart},
      {"m2m_100", &bart}, {"marian", &bart},
      {"pegasus", &bart}, {"whisper", &bart},
      {"swin", &swin},    {"donut-swin", &swin}};
  const auto at = all.find(model_type);
  return at == all.end() ? nullptr : at->second;
}

}  // namespace

NormalizedConfigKind::NormalizedConfigKind(std::string name, Names names)
    : parts_(std::make_shared<Parts>(Parts{std::move(name), std::move(names), {}, {}, {}, false})) {}

const std::string& NormalizedConfigKind::name() const { return parts_->name; }

bool NormalizedConfigKind::knows(std::string_view word) const {
  return parts_->names.find(word) != parts_->names.end();
}

std::vector<std::string> NormalizedConfigKind::words() const {
  std::vector<std::string> all;
  for (const auto& [word, key] : parts_->names) all.push_back(word);
  return all;
}

NormalizedConfigKind NormalizedConfigKind::with_args(const Names& names, bool allow_new) const {
  auto parts = std::make_shared<Parts>(*parts_);
  for (const auto& [word, key] : names) {
    if (!allow_new && !knows(word)) {
      const auto near = nearest_names(word, words());
      throw Error(
          Code::bad_argument, "export", "a word of " + name(), "'" + word + "'",
          near.empty() ? "allow_new adds one" : "near to it: '" + near[0] + "'; or allow_new adds one");
    }
    parts->names[word] = key;
  }
  NormalizedConfigKind kind = *this;
  kind.parts_ = std::move(parts);
  return kind;
}

NormalizedConfigKind NormalizedConfigKind::with_defaults(const Defaults& defaults) const {
  auto parts = std::make_shared<Parts>(*parts_);
  for (const auto& [word, value] : defaults) parts->defaults[word] = value;
  NormalizedConfigKind kind = *this;
  kind.parts_ = std::move(parts);
  return kind;
}

NormalizedConfigKind NormalizedConfigKind::with_parts(std::string text, std::string vision) const {
  auto parts = std::make_shared<Parts>(*parts_);
  parts->text = std::move(text);
  parts->vision = std::move(vision);
  NormalizedConfigKind kind = *this;
  kind.parts_ = std::move(parts);
  return kind;
}

NormalizedConfigKind NormalizedConfigKind::with_lists_as_zero() const {
  auto parts = std::make_shared<Parts>(*parts_);
  parts->lists_as_zero = true;
  NormalizedConfigKind kind = *this;
  kind.parts_ = std::move(parts);
  return kind;
}

NormalizedConfigKind normalized_config() { return {"NormalizedConfig", {}}; }

NormalizedConfigKind normalized_text_config() {
  return {"NormalizedTextConfig",
          {{"vocab_size", "vocab_size"},
           {"hidden_size", "hidden_size"},
           {"num_layers", "num_hidden_layers"},
           {"num_attention_heads", "num_attention_heads"},
           {"eos_token_id", "eos_token_id"}}};
}

NormalizedConfigKind normalized_text_config_with_gqa() {
  return normalized_text_config().with_args({{"num_key_value_heads", "num_key_value_heads"}}, true);
}

NormalizedConfigKind normalized_seq2seq_config() {
  return normalized_text_config().with_args({{"encoder_num_layers", "num_hidden_layers"},
                                             {"decoder_num_layers", "num_hidden_layers"},
                                             {"encoder_num_attention_heads", "num_attention_heads"},
                                             {"decoder_num_attention_heads", "num_attention_heads"}},
                                            true);
}

NormalizedConfigKind normalized_vision_config() {
  return {"NormalizedVisionConfig",
          {{"image_size", "image_size"}, {"num_channels", "num_channels"}, {"input_size", "input_size"}}};
}

NormalizedConfigKind normalized_segformer_config() {
  return normalized_vision_config()
      .with_args({{"num_attention_heads", "num_attention_heads"}, {"hidden_size", "hidden_sizes"}}, true)
      .with_lists_as_zero();
}

NormalizedConfigKind normalized_text_and_vision_config() {
  NormalizedConfigKind::Names vision;
  for (const char* word : vision_words) vision[word] = word;
  return normalized_text_config().with_args(vision, true).with_parts("text_config", "vision_config");
}

NormalizedConfigKind normalized_encoder_decoder_config() { return {"NormalizedEncoderDecoderConfig", {}}; }

NormalizedConfigKind normalized_time_series_forecasting_config() {
  return {"NormalizedTimeSeriesForecastingConfig",
          {{"num_input_channels", "num_input_channels"}, {"context_length", "context_length"}}};
}

NormalizedConfig::NormalizedConfig(ModelConfig config, NormalizedConfigKind kind)
    : config_(std::move(config)), kind_(std::move(kind)) {}

void NormalizedConfig::set_encoder(const NormalizedConfig& encoder) {
  encoder_ = std::make_shared<NormalizedConfig>(encoder);
}
void NormalizedConfig::set_decoder(const NormalizedConfig& decoder) {
  decoder_ = std::make_shared<NormalizedConfig>(decoder);
}

const NormalizedConfig& NormalizedConfig::owner_of(std::string_view word) const {
  if (encoder_ && encoder_->kind_.knows(word)) return *encoder_;
  if (decoder_ && decoder_->kind_.knows(word)) return *decoder_;
  return *this;
}

std::optional<std::string> NormalizedConfig::key_of(std::string_view word) const {
  const auto& parts = *kind_.parts_;
  const auto named = parts.names.find(word);
  const std::string key = named == parts.names.end() ? std::string(word) : named->second;
  std::string object;
  if (!parts.text.empty() && is_among(text_words, word)) object = parts.text;
  if (!parts.vision.empty() && is_among(vision_words, word)) object = parts.vision;
  const std::string path = object.empty() ? key : object + "." + key;
  if (config_.has(path)) return path;
  const size_t dot = path.rfind('.');
  const std::string where = dot == std::string::npos ? "" : path.substr(0, dot + 1);
  const std::string type = where + "model_type";
  const auto* own = config_.has(type) ? own_names(config_.get<std::string>(type)) : nullptr;
  if (!own) return std::nullopt;
  const auto at = own->find(path.substr(where.size()));
  if (at == own->end() || !config_.has(where + at->second)) return std::nullopt;
  return where + at->second;
}

std::optional<int64_t> NormalizedConfig::default_of(std::string_view word) const {
  const auto& defaults = kind_.parts_->defaults;
  const auto at = defaults.find(word);
  return at == defaults.end() ? std::nullopt : std::optional(at->second);
}

bool NormalizedConfig::has_attribute(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  return owner.key_of(word).has_value() || owner.default_of(word).has_value();
}

namespace {

/// If the key is absent, ModelConfig throws its own error.
std::string key_or(const std::optional<std::string>& key, std::string_view word) {
  return key ? *key : std::string(word);
}

}  // namespace

template <>
int64_t NormalizedConfig::get(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  const auto key = owner.key_of(word);
  if (!key)
    if (const auto fallback = owner.default_of(word)) return *fallback;
  if (key && owner.kind_.parts_->lists_as_zero && owner.sizes(word).size() != 1) return 0;
  return owner.config_.get<int64_t>(key_or(key, word));
}

template <>
double NormalizedConfig::get(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  return owner.config_.get<double>(key_or(owner.key_of(word), word));
}
template <>
bool NormalizedConfig::get(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  return owner.config_.get<bool>(key_or(owner.key_of(word), word));
}
template <>
std::string NormalizedConfig::get(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  return owner.config_.get<std::string>(key_or(owner.key_of(word), word));
}
template <>
std::vector<int64_t> NormalizedConfig::get(std::string_view word) const {
  return sizes(word);
}

int64_t NormalizedConfig::size(std::string_view word) const { return get<int64_t>(word); }

std::vector<int64_t> NormalizedConfig::sizes(std::string_view word) const {
  const NormalizedConfig& owner = owner_of(word);
  const auto key = owner.key_of(word);
  if (!key)
    if (const auto fallback = owner.default_of(word)) return {*fallback};
  const std::string wanted = key_or(key, word);
  try {
    return owner.config_.get<std::vector<int64_t>>(wanted);
  } catch (const Error&) {
    return {owner.config_.get<int64_t>(wanted)};
  }
}

namespace {

const std::map<std::string, NormalizedConfigKind, std::less<>>& config_kinds() {
  static const auto all = [] {
    const NormalizedConfigKind text = normalized_text_config(), vision = normalized_vision_config();
    const NormalizedConfigKind bart =
        text.with_args({{"num_attention_heads", "encoder_attention_heads"}, {"hidden_size", "d_model"}});
    const NormalizedConfigKind gpt2 =
        text.with_args({{"num_attention_heads", "n_head"}, {"hidden_size", "n_embd"}});
    const NormalizedConfigKind t5 =
        text.with_args({{"num_attention_heads", "num_heads"}, {"hidden_size", "d_model"}});
    const NormalizedConfigKind grouped = normalized_text_config_with_gqa();
    return std::map<std::string, NormalizedConfigKind, std::less<>>{
        {"bart", bart},
        {"bert", text},
        {"clip", normalized_text_and_vision_config()},
        {"deit", vision},
        {"distilbert", text.with_args({{"num_attention_heads", "n_heads"}, {"hidden_size", "dim"}})},
        {"donut-swin", vision},
        {"encoder-decoder", normalized_encoder_decoder_config()},
        {"gemma3_text", grouped.with_defaults({{"head_dim", 256}, {"num_key_value_heads", 4}})},
        {"gpt2", gpt2},
        {"llama", grouped},
        {"mbart", bart},
        {"mistral", grouped},
        {"mpnet", text},
        {"qwen2", text},
        {"resnet", vision},
        {"roberta", text},
        {"segformer", normalized_segformer_config()},
        {"swin", vision},
        {"t5", t5},
        {"trocr", text.with_args({{"num_attention_heads", "decoder_attention_heads"},
                                  {"num_layers", "decoder_layers"}})},
        {"vision-encoder-decoder", normalized_encoder_decoder_config()},
        {"vit", vision},
        {"whisper", text.with_args({{"hidden_size", "d_model"}})},
        {"xlm-roberta", text},
    };
  }();
  return all;
}

}  // namespace

std::vector<std::string> NormalizedConfigManager::model_types() {
  std::vector<std::string> all;
  for (const auto& [type, kind] : config_kinds()) all.push_back(type);
  return all;
}

NormalizedConfigKind NormalizedConfigManager::get_normalized_config_class(std::string_view model_type) {
  const auto at = config_kinds().find(model_type);
  if (at != config_kinds().end()) return at->second;
  const auto near = nearest_names(model_type, model_types());
  throw Error(Code::not_supported, "export", "a model type with a normalized configuration",
              "'" + std::string(model_type) + "'", near.empty() ? "" : "near to it: '" + near[0] + "'");
}

}  // namespace lathe::exporters
