#include "nn/refused.h"

#include <algorithm>

#include "nn/access.h"

namespace lathe::nn {

Error refused(const char* where, std::string expected, const std::string& option, const std::string& value,
              std::string remedy) {
  return detail::fault(Code::not_supported, where, std::move(expected), "'" + option + "' " + value,
                       std::move(remedy));
}

namespace {

void refuse_quantised(const ModelConfig& config) {
  if (!config.has("quantization_config")) return;
  const auto q = config.get<ModelConfig>("quantization_config");
  throw refused("config.json", "weights that are not quantised", "quantization_config",
                "of the quant_method '" + q.get<std::string>("quant_method", "") + "'",
                "export the checkpoint that this one was made from");
}

void refuse_pruned(const ModelConfig& config) {
  if (!config.has("pruned_heads")) return;
  const auto layers = config.get<ModelConfig>("pruned_heads").keys();
  if (layers.empty()) return;
  throw refused("config.json", "all heads of every layer", "pruned_heads",
                "of the layers " + detail::listed(layers),
                "export the checkpoint before its heads were pruned");
}

}  // namespace

void refuse_what_none_has(const ModelConfig& config) {
  refuse_quantised(config);
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
      throw refused(where, "'" + std::string(first) + "'", second,
                    std::to_string(config.get<int64_t>(second)), "say it by the name that is expected");
}

bool says_null(const ModelConfig& config, std::string_view key) {
  const auto keys = config.keys();
  return !config.has(key) && std::ranges::find(keys, key) != keys.end();
}

}  // namespace lathe::nn
