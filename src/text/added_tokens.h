// Added tokens: searched in texts before all others.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "text/normalizers.h"
#include "text/pre_tokenizers.h"
#include "text/vocabulary.h"

namespace lathe::text {

struct AddedToken {
  std::string content;
  uint32_t id = no_token;  // no_token: AddedTokens gives it
  bool hidden = false;     // not looked for in texts
  bool special = false, normalized = false, single_word = false, strip_left = false, strip_right = false;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Tokens without an id have that of the vocabulary; others count on behind its size, as in the Rust
  /// library.
  AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& vocabulary, const Normalizer* normalizer);

  /// Cuts a text into added tokens and what is between them, which is normalized.
  void extract(std::string_view text, const Normalizer* normalizer, Splits& to) const;

  /// Returns the id of a token; no_token: it is none of these.
  uint32_t find(std::string_view content) const { return by_content_.find(content); }
  const AddedToken* of_id(uint32_t id) const;
  /// Returns what a decoder gets for the token of that id; nothing where it is none of these.
  std::optional<std::string_view> decoded(uint32_t id) const;
  bool is_special(std::string_view text) const { return special_.find(text) != no_token; }
  /// Returns how many of them the vocabulary lacks.
  size_t beyond() const { return beyond_; }
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  void cut(const Trie& among, const AlignedText* text, size_t begin, size_t end, Splits& to) const;
  std::vector<AddedToken> tokens_;
  std::unordered_map<uint32_t, uint32_t> by_id_;
  std::unordered_map<uint32_t, std::string> changed_;  // by id: their normalized texts, where that is another
  Vocabulary by_content_, special_;
  Trie raw_, normalized_;  // with indices of tokens
  size_t beyond_ = 0;
};

}  // namespace lathe::text
