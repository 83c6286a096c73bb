#include "nn/unsupported_config.h"

#include <algorithm>

#include "nn/access.h"

namespace lathe::nn {

Error unsupported_config(const char* where, std::string expected, const std::string& option,
                         const std::string& value, std::string remedy) {
  return detail::fault(Code::not_supported, where, std::move(expected), "'" + option + "' " + value,
                       std::move(remedy));
}

namespace {

void refuse_quantized(const ModelConfig& config) {
  if (!config.has("quantization_config")) return;
  const auto q = config.get<ModelConfig>("quantization_config");
  throw unsupported_config("config.json", "weights that are not quantized", "quantization_config",
                           "of the quant_method '" + q.get<std::string>("quant_method", "") + "'",
                           "export the checkpoint that this one was made from");
}

void refuse_pruned(const ModelConfig& config) {
  if (!config.has("pruned_heads")) return;
  const auto layers = config.get<ModelConfig>("pruned_heads").keys();
  if (layers.empty()) return;
  throw unsupported_config("config.json", "all heads of every layer", "pruned_heads",
                           "of the layers " + detail::listed(layers),
                           "export the checkpoint before its heads were pruned");
}

}  // namespace

void refuse_what_none_has(const ModelConfig& config) {
  refuse_quantized(config);
  refuse_pruned(config);
  // Halves of an architecture are configurations of their own.
  for (const char* half : {"encoder", "decoder", "text_config", "vision_config"})
    if (config.has(half)) refuse_pruned(config.get<ModelConfig>(half));
}

void refuse_other_names(const char* where, const ModelConfig& config,
                        const std::vector<std::pair<const char*, const char*>>& second_and_first) {
  for (const auto& [second, first] : second_and_first)
    if (config.has(second) &&
        (!config.has(first) || config.get<int64_t>(second) != config.get<int64_t>(first)))
      throw unsupported_config(where, "'" + std::string(first) + "'", second,
                               std::to_string(config.get<int64_t>(second)),
                               "say it by the name that is expected");
}

bool is_null_in(const ModelConfig& config, std::string_view key) {
  const auto keys = config.keys();
  return !config.has(key) && std::ranges::find(keys, key) != keys.end();
}

}  // namespace lathe::nn
