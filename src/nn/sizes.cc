#include "nn/sizes.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "lathe/nn/layers.h"
#include "nn/access.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {

namespace {

struct Bounds {
  int64_t least, most;
};
/// The bounds are generous: Llama 3.1 405B has 126 layers and 128 heads.
constexpr int64_t max_elements = std::numeric_limits<int32_t>::max();
constexpr Bounds layers{0, 4096}, heads{1, 65536}, experts{0, 65536}, images{1, 8192}, parts{1, 65536},
    sizes{1, max_elements}, optional_sizes{0, max_elements};
constexpr size_t longest_list = 16;  // of stages

using Keys = std::vector<std::string>;

const std::vector<std::pair<Keys, Bounds>>& bounded() {
  static const std::vector<std::pair<Keys, Bounds>> all{
      {layer_keys(), layers},
      {{"num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads",
        "encoder_attention_heads", "decoder_attention_heads", "head_dim", "d_kv"},
       heads},
      {{"num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok"}, experts},
      {{"image_size"}, images},
      {{"patch_size", "window_size", "encoder_stride", "num_channels"}, parts},
      {{"hidden_size",
        "n_embd",
        "dim",
        "d_model",
        "intermediate_size",
        "n_inner",
        "hidden_dim",
        "d_ff",
        "encoder_ffn_dim",
        "decoder_ffn_dim",
        "vocab_size",
        "max_position_embeddings",
        "original_max_position_embeddings",
        "n_positions",
        "max_source_positions",
        "max_target_positions",
        "num_mel_bins",
        "embed_dim",
        "embedding_size",
        "hidden_sizes",
        "classifier_proj_size",
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
        "in_features",
        "out_features",
        "dimension"},
       sizes},
      {{"type_vocab_size", "projection_dim", "cross_attention_hidden_size", "num_labels", "sliding_window",
        "max_window_layers"},
       optional_sizes}};
  return all;
}

/// The number, or the numbers of a list; none where it is something else.
std::vector<int64_t> numbers_in(const ModelConfig& config, const std::string& key) {
  try {
    return {config.get<int64_t>(key)};
  } catch (const Error&) {
  }
  try {
    return config.get<std::vector<int64_t>>(key);
  } catch (const Error&) {
    return {};
  }
}

bool is_object(const ModelConfig& config, const char* key) {
  try {
    return config.has(key) && !config.get<ModelConfig>(key).keys().empty();
  } catch (const Error&) {
    return false;
  }
}

/// Returns configurations inside of one. Labels are skipped, because they may have any name.
std::vector<std::pair<std::string, ModelConfig>> parts_of(const ModelConfig& config) {
  std::vector<std::pair<std::string, ModelConfig>> all;
  for (const char* part : {"encoder", "decoder", "text_config", "vision_config", "text_config_dict",
                           "vision_config_dict", "rope_scaling", "rope_parameters"})
    if (is_object(config, part)) all.emplace_back(part, config.get<ModelConfig>(part));
  return all;
}

void check_sizes(const ModelConfig& config, const std::string& prefix) {
  const auto refuse = [&](const std::string& key, const std::string& expected, const std::string& got) {
    throw detail::fault(Code::bad_argument, "config.json", "'" + prefix + key + "' " + expected, got,
                        "correct the configuration");
  };
  for (const auto& [keys, bounds] : bounded())
    for (const std::string& key : keys) {
      if (!config.has(key)) continue;
      const std::vector<int64_t> numbers = numbers_in(config, key);
      for (int64_t n : numbers)
        if (n < bounds.least || n > bounds.most)
          refuse(key, "from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most),
                 std::to_string(n));
      if (numbers.size() > longest_list)
        refuse(key, "of at most " + std::to_string(longest_list) + " numbers",
               std::to_string(numbers.size()));
    }
  for (const auto& [part, inner] : parts_of(config)) check_sizes(inner, prefix + part + ".");
}

void collect_keys(const ModelConfig& config, int64_t n, bool of_layers, const std::string& prefix,
                  std::string& all) {
  for (const auto& [keys, bounds] : bounded()) {
    if (of_layers && keys != layer_keys()) continue;
    for (const std::string& key : keys)
      if (config.has(key) && std::ranges::count(numbers_in(config, key), n))
        all += (all.empty() ? "'" : ", '") + prefix + key + "'";
  }
  for (const auto& [part, inner] : parts_of(config))
    collect_keys(inner, n, of_layers, prefix + part + ".", all);
}

}  // namespace

const std::vector<std::string>& layer_keys() {
  static const std::vector<std::string> all{
      "num_hidden_layers",  "n_layer",        "n_layers",       "num_layers",
      "num_decoder_layers", "encoder_layers", "decoder_layers", "depths"};
  return all;
}

void check_sizes(const ModelConfig& config) { check_sizes(config, {}); }

std::string keys_with_value(const ModelConfig& config, int64_t n, bool of_layers) {
  std::string all;
  collect_keys(config, n, of_layers, {}, all);
  return all;
}

int64_t label_count(const ModelConfig& config) {
  if (config.has("id2label")) return static_cast<int64_t>(config.get<ModelConfig>("id2label").keys().size());
  return config.get<int64_t>("num_labels", 2);
}

int saved_by_version(const ModelConfig& config) {
  const auto text = config.get<std::string>("transformers_version", "4");
  int version = 4;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

std::array<int64_t, 2> height_and_width(const ModelConfig& config, const char* key, int64_t fallback) {
  std::vector<int64_t> sides;
  try {
    sides = {config.get<int64_t>(key, fallback)};
  } catch (const Error&) {
    sides = config.get<std::vector<int64_t>>(key);
  }
  if (sides.empty() || sides.size() > 2)
    throw detail::fault(Code::bad_argument, key, "one number, or height and width",
                        std::to_string(sides.size()) + " numbers");
  return {sides.front(), sides.back()};
}

std::string activation_in(const ModelConfig& config, const char* key, const char* fallback) {
  return activation_called(config.get<std::string>(key, fallback), key);
}

std::string activation_called(const std::string& name, const char* key) {
  try {
    return Activation(name).name();
  } catch (const Error& e) {
    throw e.at("nn", key, "");
  }
}

void require_square(const char* where, int64_t rows, int64_t columns) {
  if (rows == columns) return;
  throw unsupported_config(where, "for masked-im an image of as many rows of patches as columns",
                           "image_size",
                           "of " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
                           "transformers puts the patches of no other image together again");
}

}  // namespace lathe::nn
