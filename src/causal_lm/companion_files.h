// The files that belong to a language model besides its weights: tokenizer, chat template, defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "exporters/gguf_source.h"

namespace lathe {

struct CompanionFiles {
  std::map<std::string, std::string> files;  // contents, by the names that Generator's constructor knows
  int64_t context_length = 0;                // tokens that the model was made for; 0: nothing says it

  /// Takes the length of the context from the text of a config.json. Throws json_malformed.
  void add_config(const std::string& json, const std::string& origin);
};

/// Reads what lies in a folder. Throws file_*, wire_too_large, json_malformed.
CompanionFiles companions_of_folder(const std::filesystem::path& folder);

/// Makes the files of what a GGUF file says. Throws bad_argument for metadata of other types than they have.
CompanionFiles companions_of_gguf(const exporters::GgufSource& source);

}  // namespace lathe
