// Writes tokenizer.json for vocabularies that have no description of their steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/plain_vocabulary.h"

namespace lathe::text {

/// How a byte-level vocabulary splits texts: by each pattern in turn, then as GPT-2 does or not at all.
struct SplitPatterns {
  std::vector<std::string> patterns;
  bool like_gpt2 = false;
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
  bool add_begin = false;      // where the file does not say whether texts begin with a token
};
/// Returns what a name of `tokenizer.ggml.pre` stands for; nothing for an unknown one.
std::optional<SplitPatterns> split_patterns(std::string_view name);

/// Returns the text of a tokenizer.json with which the Rust library makes the tokens that make_tokenizer(v)
/// makes. It has one rank for each merge: of pairs that make one token of one score the longer first part
/// goes first. Throws what make_tokenizer() throws, and not_supported for kinds of vocabularies other than
/// the three that tokenizer.json has models for.
std::string tokenizer_document(const PlainVocabulary& v, const std::string& origin);

}  // namespace lathe::text
