// A checkpoint without all parameters: what may stand for those that it lacks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lathe/nn.h"

namespace lathe::exporters {

/// Where parameters are missing since the configuration has more layers than the checkpoint: what was
/// expected and got, with the key that says so. Nothing where they are missing for another reason.
struct TooManyLayers {
  std::string expected, got;
};
std::optional<TooManyLayers> too_many_layers(const std::vector<std::string>& missing,
                                             const Checkpoint& checkpoint, const ModelConfig& config);

/// What config.json says of sizes of `wanted` that are not among those of `got`, the text of another shape:
/// "'vocab_size' is 50000". Empty where nothing does.
std::string keys_of_shape(const Shape& wanted, const std::string& got, const ModelConfig& config);

/// What to do where a checkpoint lacks nothing but matrices with a row for every word (of `missing` paths in
/// `module`) and has others of their shape: one of these stands for them where weights are tied, which
/// config.json then says. Empty where that is not what is wrong.
std::string remedy_for_lacking_words(const nn::Module& module, const std::vector<std::string>& missing,
                                     const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace lathe::exporters
