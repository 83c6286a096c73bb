// Strings as JSON, whatever their bytes.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// In quotes. What is not UTF-8 becomes U+FFFD, a character a byte; `<` is escaped too, so that the text may
/// stand inside an HTML script element.
std::string json_text(std::string_view s);

/// The same text, where what is not UTF-8 has become U+FFFD.
std::string valid_utf8(std::string_view s);

}  // namespace lathe
