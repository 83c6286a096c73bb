// What Python's strings know of characters: classes and cases by Unicode 14, as Python 3.11 has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::jinja {

/// Classes of characters, named after Python's str.isalpha() and its like. `cased` and `ignorable` decide
/// whether a sigma ends its word.
enum CharacterFlag : uint16_t {
  char_alpha = 1,
  char_decimal = 2,
  char_digit = 4,
  char_numeric = 8,
  char_space = 16,
  char_printable = 32,
  char_lower = 64,
  char_upper = 128,
  char_title = 256,
  char_cased = 512,
  char_ignorable = 1024,
  char_identifier_start = 2048,
  char_identifier = 4096,
};

/// Returns the flags of a character; 0 for what is not assigned.
uint16_t character_flags(char32_t c);
inline bool has_flag(char32_t c, uint16_t flags) { return (character_flags(c) & flags) != 0; }

std::u32string decode(std::string_view utf8);
std::string encode(std::u32string_view text);
/// Returns the number of characters of a text in UTF-8.
size_t character_count(std::string_view utf8);
/// Returns the byte at which a character begins; the size if there are fewer.
size_t byte_of_character(std::string_view utf8, size_t index);
bool is_ascii(std::string_view text);

/// The methods of Python's str of these names. Texts are UTF-8.
std::string lower_text(std::string_view text);
std::string upper_text(std::string_view text);
std::string title_text(std::string_view text);
std::string capitalize_text(std::string_view text);
std::string casefold_text(std::string_view text);
std::string swapcase_text(std::string_view text);
std::string_view strip_space(std::string_view text, bool left = true, bool right = true);

}  // namespace lathe::jinja
