// SentencePiece's table of what replaces what: a double array (darts-clone of
// https://github.com/s-yata/darts-clone) over UTF-8, and the texts that replace, each with a 0 behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

/// Immutable once made; thread-safe.
class CharsMap {
 public:
  struct Found {
    size_t bytes = 0;     // of the text that is replaced; 0: none is
    std::string_view by;  // valid as long as the table is
  };
  /// Returns nothing for bytes that are no such table.
  static std::optional<CharsMap> parse(std::string_view bytes);
  /// Finds the shortest known beginning of a text, or the longest.
  Found find(std::string_view text, bool longest) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace lathe::text
