// Characters: UTF-8 in and out, and the other case of letters.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Reads one character at `i`; its length, or 0 when the bytes are not UTF-8.
size_t decode_utf8(std::string_view s, size_t i, char32_t& c);
void append_utf8(std::string& to, char32_t c);

/// By Unicode's simple case mapping; what has no other case is itself.
char32_t lower_letter(char32_t c);
char32_t upper_letter(char32_t c);

}  // namespace lathe
