// Classes of characters for tokenizers: spaces, marks, punctuation; and texts as lists of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::text {

/// A character of a text that was changed, and the bytes of the original that it came from.
struct Letter {
  char32_t c = 0;
  uint32_t bytes = 0;
  size_t begin = 0;
  size_t end() const { return begin + bytes; }
};
using Letters = std::vector<Letter>;

/// The text must be UTF-8.
Letters letters_of(std::string_view utf8);

/// Returns whether clean text drops the character: controls, formats, private characters, U+FFFD.
bool is_control(char32_t c);
/// Returns whether it is a mark without width, such as an accent.
bool is_mark(char32_t c);
bool is_punctuation(char32_t c);
bool is_space(char32_t c);
/// Returns whether it is an ideograph that is a word of its own.
bool is_ideograph(char32_t c);
/// Returns whether it can be in a "single word": letters, digits, marks and what joins them.
bool is_word(char32_t c);

/// Appends the canonical decomposition of `letter` by Unicode.
void decompose(const Letter& letter, Letters& to);

}  // namespace lathe::text
