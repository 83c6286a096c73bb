// Tokenizers and chat templates of files by their names, wherever these lie: in a folder, in a plan.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lathe/chat_template.h"
#include "lathe/tokenizer.h"

namespace lathe::text {

/// Contents of files by their names in a folder.
using TextFiles = std::map<std::string, std::string>;

/// Reads the files of a folder that make its tokenizer; none without one. Throws what Tokenizer::open()
/// throws of files, and bad_argument for several files of ranks.
TextFiles read_tokenizer_files(const std::filesystem::path& folder);
/// Makes the tokenizer that Tokenizer::open() makes of a folder with these files; nothing without one. Errors
/// name them in `folder`.
std::optional<Tokenizer> tokenizer_of(const TextFiles& files, const std::filesystem::path& folder = {},
                                      const TokenizerOptions& options = {});

/// Reads the files of a folder that make its chat templates, tokenizer_config.json among them. Throws what
/// ChatTemplate::open() throws of files.
TextFiles read_template_files(const std::filesystem::path& folder);
/// Makes the templates that ChatTemplate::open() makes of a folder with these files; nothing without one.
std::optional<ChatTemplate> chat_template_of(const TextFiles& files,
                                             const std::filesystem::path& folder = {});

}  // namespace lathe::text
