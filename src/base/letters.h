// Characters: UTF-8 in and out, and the other case of letters.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Reads one character at `i`. Returns its length, or 0 when the bytes are not UTF-8.
size_t decode_utf8(std::string_view s, size_t i, char32_t& c);
void append_utf8(std::string& to, char32_t c);

/// Returns the lower (upper) case by Unicode's simple case mapping; characters without it are unchanged.
char32_t lower_letter(char32_t c);
char32_t upper_letter(char32_t c);

}  // namespace lathe
