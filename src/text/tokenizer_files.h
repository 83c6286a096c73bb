// What the files beside a tokenizer say, for those kinds of files that leave it open.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lathe/tokenizer.h"
#include "text/added_tokens.h"

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
/// Reads those that are there. Throws json_malformed for other JSON and for ids out of range.
FolderConfig read_folder_config(const std::filesystem::path& folder);

/// Reads vocab.json and the merges.txt beside it: byte-level BPE that splits as the class does; without one,
/// as GPT-2 does. Throws as Tokenizer::open() does.
Tokenizer open_vocabulary(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                          FolderConfig config);

}  // namespace lathe::text
