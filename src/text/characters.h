// What characters are to tokenizers: spaces, marks, punctuation; and texts as lists of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::text {

/// A character of a text that was changed, and the bytes of the original that it stands for.
struct Letter {
  char32_t c = 0;
  uint32_t bytes = 0;
  size_t begin = 0;
  size_t end() const { return begin + bytes; }
};
using Letters = std::vector<Letter>;

/// Text that is UTF-8.
Letters letters_of(std::string_view utf8);

/// Left out of clean text: controls, formats, private characters, U+FFFD.
bool is_control(char32_t c);
/// Marks without width, as accents are.
bool is_mark(char32_t c);
bool is_punctuation(char32_t c);
bool is_space(char32_t c);
/// Ideographs that are words of their own.
bool is_ideograph(char32_t c);
/// Letters, digits, marks and what joins them: what a "single word" is made of.
bool is_word(char32_t c);

/// Appends what `letter` is made of, by Unicode's canonical decomposition.
void decompose(const Letter& letter, Letters& to);

}  // namespace lathe::text
