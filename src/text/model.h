// Models: words to tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace lathe::text {

/// A token of a word: its bytes [begin, end) in it.
struct WordToken {
  uint32_t id;
  uint32_t begin, end;
  /// The token's text is that of the word, not that of the vocabulary.
  bool as_in_text = false;
};

/// Reports a word that a model has no tokens for: the vocabulary lacks the token for unknown words.
struct UnknownWord {
  std::string token;  // empty: the model names none
};

class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a word, which is not empty. Throws UnknownWord. Thread-safe.
  virtual void tokenize(std::string_view word, std::vector<WordToken>& to) const = 0;
  /// Takes bytes in the place of the letters that stand for them in byte-level vocabularies, from then on.
  /// Returns whether it can do that.
  virtual bool take_bytes() { return false; }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit Model(Vocabulary v) : vocabulary_(std::move(v)) {}
  Vocabulary vocabulary_;
};
using ModelPtr = std::unique_ptr<Model>;

struct BpeOptions {
  std::string unknown, prefix, suffix;  // empty: none
  bool has_unknown = false, fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};
/// The two tokens of a merge, by id, what they become, and the rank; no_token: its position in the list.
struct Merge {
  uint32_t left, right, result, rank = no_token;
};
/// Of equal pairs the last counts.
ModelPtr bpe_model(Vocabulary v, const std::vector<Merge>& merges, BpeOptions o);
/// Unigram: `scores` by id, which are positions.
ModelPtr unigram_model(Vocabulary v, std::vector<double> scores, uint32_t unknown, bool byte_fallback);
ModelPtr word_piece_model(Vocabulary v, std::string unknown, std::string_view prefix, size_t longest_word);
ModelPtr word_level_model(Vocabulary v, std::string unknown);

/// Returns the name of the token that stands for a byte: <0x0A>.
std::string byte_token(uint8_t byte);

}  // namespace lathe::text
