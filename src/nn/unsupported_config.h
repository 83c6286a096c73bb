// Refuses options of config.json that no architecture here supports, by name: they are never ignored.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/error.h"

namespace lathe::nn {

/// An error of stage "nn" about an option of a configuration: what was expected, and the option with its
/// value.
Error unsupported_config(const char* where, std::string expected, const std::string& option,
                         const std::string& value, std::string remedy = {});

/// Refuses options that transformers has for every architecture: quantized weights, and heads that were
/// pruned. Throws not_supported.
void refuse_what_none_has(const ModelConfig& config);

/// transformers knows some sizes by a second name, which takes precedence over the first. Throws
/// not_supported if only the second is there, or if they differ.
void refuse_other_names(const char* where, const ModelConfig& config,
                        const std::vector<std::pair<const char*, const char*>>& second_and_first);

/// Returns whether the key is there and null: some defaults apply only to keys that are absent.
bool is_null_in(const ModelConfig& config, std::string_view key);

}  // namespace lathe::nn
