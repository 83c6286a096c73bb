// Error messages for a checkpoint without all parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lathe/nn.h"

namespace lathe::exporters {

/// The error if parameters are missing because the configuration has more layers than the checkpoint: what
/// was expected and got, with the key that says so. Nothing if they are missing for another reason.
struct TooManyLayers {
  std::string expected, got;
};
std::optional<TooManyLayers> too_many_layers(const std::vector<std::string>& missing,
                                             const Checkpoint& checkpoint, const ModelConfig& config);

/// Returns the keys of config.json that give the sizes of `wanted` that are not in `got`, the text of another
/// shape: "'vocab_size' is 50000". Empty if there is none.
std::string keys_of_shape(const Shape& wanted, const std::string& got, const ModelConfig& config);

/// Returns the remedy if a checkpoint lacks only matrices with a row for every word (`missing` paths in
/// `module`) and has others of their shape: with tied weights, which config.json must then say, one of these
/// replaces them. Empty otherwise.
std::string remedy_for_missing_vocabulary(const nn::Module& module, const std::vector<std::string>& missing,
                                          const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace lathe::exporters
