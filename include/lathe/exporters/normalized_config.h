// One word for the same size in every architecture: "hidden_size" is "n_embd" in one config.json, "d_model"
// in another and "text_config.hidden_size" in a third.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/export.h"

namespace lathe::exporters {

/// Which keys a family of architectures keeps its sizes under. Immutable; copies share; thread-safe.
class LATHE_API NormalizedConfigKind {
 public:
  /// Word and key; a key may lead into objects: "decoder.d_model".
  using Names = std::map<std::string, std::string, std::less<>>;
  /// What a size is where config.json does not say it.
  using Defaults = std::map<std::string, int64_t, std::less<>>;

  NormalizedConfigKind(std::string name, Names names);

  const std::string& name() const;
  bool knows(std::string_view word) const;
  std::vector<std::string> words() const;
  /// The same kind with other keys for some words. Throws Code::bad_argument for a word that it does not know,
  /// with names that are near, unless `allow_new`.
  NormalizedConfigKind with_args(const Names& names, bool allow_new = false) const;
  NormalizedConfigKind with_defaults(const Defaults& defaults) const;
  /// Words of a text kind are looked for in the object `text`, those of a vision kind in `vision`.
  NormalizedConfigKind with_parts(std::string text, std::string vision) const;
  /// What is a list counts as 0: sizes that differ from stage to stage.
  NormalizedConfigKind with_lists_as_zero() const;

 private:
  friend class NormalizedConfig;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// No words of its own: every key stands for itself.
LATHE_API NormalizedConfigKind normalized_config();
/// vocab_size, hidden_size, num_layers, num_attention_heads, eos_token_id.
LATHE_API NormalizedConfigKind normalized_text_config();
/// And num_key_value_heads.
LATHE_API NormalizedConfigKind normalized_text_config_with_gqa();
/// And encoder_ and decoder_num_layers, encoder_ and decoder_num_attention_heads.
LATHE_API NormalizedConfigKind normalized_seq2seq_config();
/// image_size, num_channels, input_size.
LATHE_API NormalizedConfigKind normalized_vision_config();
LATHE_API NormalizedConfigKind normalized_segformer_config();
/// Both, in "text_config" and "vision_config".
LATHE_API NormalizedConfigKind normalized_text_and_vision_config();
/// Two models in one: NormalizedConfig::set_encoder, set_decoder.
LATHE_API NormalizedConfigKind normalized_encoder_decoder_config();
/// num_input_channels, context_length.
LATHE_API NormalizedConfigKind normalized_time_series_forecasting_config();

/// A config.json seen through a kind. Copies share.
class LATHE_API NormalizedConfig {
 public:
  NormalizedConfig(ModelConfig config, NormalizedConfigKind kind);

  const ModelConfig& config() const { return config_; }
  const NormalizedConfigKind& kind() const { return kind_; }
  /// What leads to a value: the word's key, the key by which this architecture (its "model_type") has always
  /// called it, or a default; has_attribute() is false where none does.
  bool has_attribute(std::string_view word) const;
  /// T as of ModelConfig::get. Throws Code::bad_argument as that does.
  template <class T>
  T get(std::string_view word) const;
  template <class T>
  T get(std::string_view word, T fallback) const {
    return has_attribute(word) ? get<T>(word) : fallback;
  }
  int64_t size(std::string_view word) const;
  /// A number or a list of numbers.
  std::vector<int64_t> sizes(std::string_view word) const;

  /// The two models of an encoder-decoder. Words that the encoder's kind knows are the encoder's, then the
  /// decoder's.
  void set_encoder(const NormalizedConfig& encoder);
  void set_decoder(const NormalizedConfig& decoder);
  const NormalizedConfig* encoder() const { return encoder_.get(); }
  const NormalizedConfig* decoder() const { return decoder_.get(); }

 private:
  const NormalizedConfig& owner_of(std::string_view word) const;
  std::optional<std::string> key_of(std::string_view word) const;
  std::optional<int64_t> default_of(std::string_view word) const;
  ModelConfig config_;
  NormalizedConfigKind kind_;
  std::shared_ptr<const NormalizedConfig> encoder_, decoder_;
};

template <>
LATHE_API int64_t NormalizedConfig::get(std::string_view word) const;
template <>
LATHE_API double NormalizedConfig::get(std::string_view word) const;
template <>
LATHE_API bool NormalizedConfig::get(std::string_view word) const;
template <>
LATHE_API std::string NormalizedConfig::get(std::string_view word) const;
template <>
LATHE_API std::vector<int64_t> NormalizedConfig::get(std::string_view word) const;

/// Kinds by model type.
struct LATHE_API NormalizedConfigManager {
  /// Throws Code::not_supported, with model types that are near.
  static NormalizedConfigKind get_normalized_config_class(std::string_view model_type);
  static std::vector<std::string> model_types();
};

}  // namespace lathe::exporters
