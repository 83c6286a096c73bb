// What the files beside a tokenizer say, for those kinds of files that leave it open.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lathe/tokenizer.h"
#include "text/added_tokens.h"
#include "text/text_files.h"

namespace lathe::text {

/// tokenizer_config.json and added_tokens.json of a folder.
struct FolderConfig {
  std::filesystem::path path;
  std::string tokenizer_class;              // without "Fast" at its end; empty: unknown
  std::vector<AddedToken> added;            // with their ids
  std::map<std::string, AddedToken> named;  // by key: bos_token, eos_token, …
  std::optional<bool> add_begin, add_end;   // add_bos_token, add_eos_token
  std::optional<bool> add_prefix_space, legacy;
  int64_t extra_ids = 100;  // of T5
};
/// Reads those of them that are among the files; errors name them in the folder. Throws json_malformed for
/// other JSON and for ids out of range.
FolderConfig read_folder_config(const TextFiles& files, const std::filesystem::path& folder);

}  // namespace lathe::text
