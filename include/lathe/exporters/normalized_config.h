// One name for the same size in every architecture: "hidden_size" is "n_embd" in one config.json, "d_model"
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

/// Knows under which keys a family of architectures keeps its sizes. Immutable; copies share; thread-safe.
/// Optimum: NormalizedConfig.
class LATHE_API NormalizedConfigKind {
 public:
  /// Maps normalized names to keys; a key may lead into objects: "decoder.d_model".
  using Names = std::map<std::string, std::string, std::less<>>;
  /// Maps normalized names to the values that they have where config.json lacks them.
  using Defaults = std::map<std::string, int64_t, std::less<>>;

  /// Makes a kind; `name` is for messages.
  NormalizedConfigKind(std::string name, Names names);

  /// Returns its name.
  const std::string& name() const;
  /// Returns whether it has that normalized name.
  bool knows(std::string_view word) const;
  /// Returns all normalized names.
  std::vector<std::string> words() const;
  /// Returns the same kind with other keys for some names. Throws Code::bad_argument for a name that it
  /// lacks, with similar names, unless `allow_new`.
  NormalizedConfigKind with_args(const Names& names, bool allow_new = false) const;
  /// Returns the same kind with values for names that config.json may lack.
  NormalizedConfigKind with_defaults(const Defaults& defaults) const;
  /// Returns the same kind, in which names of a text kind are looked for in the object `text`, those of a
  /// vision kind in `vision`.
  NormalizedConfigKind with_parts(std::string text, std::string vision) const;
  /// Returns the same kind, in which lists count as 0: sizes that differ from stage to stage.
  NormalizedConfigKind with_lists_as_zero() const;

 private:
  friend class NormalizedConfig;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// Returns a kind without names: every key stands for itself.
LATHE_API NormalizedConfigKind normalized_config();
/// Returns the kind with vocab_size, hidden_size, num_layers, num_attention_heads, eos_token_id.
LATHE_API NormalizedConfigKind normalized_text_config();
/// Returns normalized_text_config() and num_key_value_heads.
LATHE_API NormalizedConfigKind normalized_text_config_with_gqa();
/// Returns normalized_text_config() and encoder_ and decoder_num_layers, encoder_ and
/// decoder_num_attention_heads.
LATHE_API NormalizedConfigKind normalized_seq2seq_config();
/// Returns the kind with image_size, num_channels, input_size.
LATHE_API NormalizedConfigKind normalized_vision_config();
/// Returns normalized_vision_config() for Segformer, whose sizes are lists.
LATHE_API NormalizedConfigKind normalized_segformer_config();
/// Returns both kinds, with names looked for in "text_config" and "vision_config".
LATHE_API NormalizedConfigKind normalized_text_and_vision_config();
/// Returns the kind of two models in one: NormalizedConfig::set_encoder, set_decoder.
LATHE_API NormalizedConfigKind normalized_encoder_decoder_config();
/// Returns the kind with num_input_channels, context_length.
LATHE_API NormalizedConfigKind normalized_time_series_forecasting_config();

/// A config.json read through a kind. Copies share. Not thread-safe while set_encoder or set_decoder run.
class LATHE_API NormalizedConfig {
 public:
  /// Makes it of a config.json and a kind.
  NormalizedConfig(ModelConfig config, NormalizedConfigKind kind);

  /// Returns the config.json.
  const ModelConfig& config() const { return config_; }
  /// Returns the kind.
  const NormalizedConfigKind& kind() const { return kind_; }
  /// Returns whether a value can be found: under the name's key, under the key that this architecture (its
  /// "model_type") has always used, or as a default.
  bool has_attribute(std::string_view word) const;
  /// Returns a value; T is as for ModelConfig::get. Throws Code::bad_argument as that does.
  template <class T>
  T get(std::string_view word) const;
  /// Returns the fallback where has_attribute() is false.
  template <class T>
  T get(std::string_view word, T fallback) const {
    return has_attribute(word) ? get<T>(word) : fallback;
  }
  /// Returns a number. Throws as get() does.
  int64_t size(std::string_view word) const;
  /// Returns a number or a list of numbers as a list. Throws as get() does.
  std::vector<int64_t> sizes(std::string_view word) const;

  /// Sets the encoder of an encoder-decoder: names that its kind has are looked for there first, then in the
  /// decoder.
  void set_encoder(const NormalizedConfig& encoder);
  /// Sets the decoder of an encoder-decoder.
  void set_decoder(const NormalizedConfig& decoder);
  /// Returns the encoder, or null.
  const NormalizedConfig* encoder() const { return encoder_.get(); }
  /// Returns the decoder, or null.
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

/// Finds kinds by model type. Optimum: NormalizedConfigManager.
struct LATHE_API NormalizedConfigManager {
  /// Returns the kind of a model type. Throws Code::not_supported, with similar model types.
  static NormalizedConfigKind get_normalized_config_class(std::string_view model_type);
  /// Returns the model types that have a kind.
  static std::vector<std::string> model_types();
};

}  // namespace lathe::exporters
