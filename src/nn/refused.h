// What a config.json can say and no architecture here does. It is refused by name: never ignored.
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
Error refused(const char* where, std::string expected, const std::string& option, const std::string& value,
              std::string remedy = {});

/// What transformers knows of every architecture: weights that are quantised, heads that were taken out.
/// Throws not_supported.
void refuse_what_none_has(const ModelConfig& config);

/// transformers knows some sizes by a second name, which goes before the first. Throws not_supported where
/// one is said by the second alone, or both say something else.
void refuse_other_names(const char* where, const ModelConfig& config,
                        const std::vector<std::pair<const char*, const char*>>& second_and_first);

/// Whether the key is there, and null: some defaults are for keys that are not there only.
bool says_null(const ModelConfig& config, std::string_view key);

}  // namespace lathe::nn
