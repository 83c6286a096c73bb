// How byte-level vocabularies split texts, by the names that llama.cpp and tiktoken have for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/pre_tokenizers.h"

namespace lathe::text {

/// What a name of `tokenizer.ggml.pre` stands for: texts are split by each pattern in turn, then as GPT-2
/// does or not at all.
struct SplitPatterns {
  std::vector<std::string> patterns;
  bool like_gpt2 = false;
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
  bool add_begin = false;      // where the file does not say whether texts begin with a token
};
/// Returns nothing for an unknown name. The empty one is "default".
std::optional<SplitPatterns> split_patterns(std::string_view name);
/// Returns what splits texts in that way into words of letters that stand for bytes.
PreTokenizerPtr pre_tokenizer_of(const SplitPatterns& split);
/// Returns all names, with commas between them.
std::string gguf_split_names();

/// An encoding of tiktoken, without its ranks.
struct NamedEncoding {
  std::string pattern;
  std::vector<std::pair<std::string, uint32_t>> special_tokens;
  bool composes = false;  // texts become NFC
};
/// Returns nothing for an unknown name.
std::optional<NamedEncoding> tiktoken_encoding(std::string_view name);
/// Returns all names, with commas between them.
std::string tiktoken_encoding_names();

}  // namespace lathe::text
