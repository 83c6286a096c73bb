// A vocabulary that is searched for the longest word that a text begins with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/characters.h"

namespace lathe::text {

/// Words and their ids, sorted: those with a common prefix are adjacent, and each further byte narrows their
/// range. Immutable once made; thread-safe.
class Vocabulary {
 public:
  struct Entry {
    std::string text;
    int64_t id = 0;
  };
  struct Range {
    size_t begin = 0, end = 0, depth = 0;  // words that agree in `depth` bytes
  };
  struct Match {
    const Entry* entry;
    size_t letters;
  };

  Vocabulary() = default;
  /// If words are equal, the last one counts.
  explicit Vocabulary(std::vector<Entry> entries);

  const Entry* find(std::string_view text) const;
  /// Returns all words with that prefix.
  Range beginning_with(std::string_view prefix) const;
  /// Returns the longest word of `from` whose rest, at least one letter, begins `text`.
  std::optional<Match> longest(std::span<const Letter> text, Range from) const;
  Range all() const { return {0, entries_.size(), 0}; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Range narrow(Range r, char byte) const;
  std::vector<Entry> entries_;
};

}  // namespace lathe::text
