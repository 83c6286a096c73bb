#include "nn/sizes.h"

#include <vector>

#include "lathe/nn/layers.h"
#include "nn/access.h"
#include "nn/refused.h"

namespace lathe::nn {

int64_t label_count(const ModelConfig& config) {
  if (config.has("id2label")) return static_cast<int64_t>(config.get<ModelConfig>("id2label").keys().size());
  return config.get<int64_t>("num_labels", 2);
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
  throw refused(where, "for masked-im an image of as many rows of patches as columns", "image_size",
                "of " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
                "transformers puts the patches of no other image together again");
}

}  // namespace lathe::nn
