// A vocabulary, searched for the longest word that a text begins with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/characters.h"

namespace lathe::text {

/// Words and their ids, sorted: those with a common beginning lie together, and each further byte narrows
/// them. Immutable once made; thread-safe.
class Words {
 public:
  struct Word {
    std::string text;
    int64_t id = 0;
  };
  struct Range {
    size_t begin = 0, end = 0, depth = 0;  // words that agree in `depth` bytes
  };
  struct Match {
    const Word* word;
    size_t letters;
  };

  Words() = default;
  /// Of equal words the last counts.
  explicit Words(std::vector<Word> words);

  const Word* find(std::string_view text) const;
  /// All words that begin so.
  Range beginning_with(std::string_view prefix) const;
  /// The longest of these words that goes on as the text does, by at least one letter.
  std::optional<Match> longest(std::span<const Letter> text, Range from) const;
  Range all() const { return {0, words_.size(), 0}; }
  const std::vector<Word>& words() const { return words_; }

 private:
  Range narrow(Range r, char byte) const;
  std::vector<Word> words_;
};

}  // namespace lathe::text
