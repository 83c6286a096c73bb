// Strings as JSON, whatever their bytes.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Returns the text as a JSON string, in quotes. Bytes that are not UTF-8 become U+FFFD each; `<` is escaped
/// too, so that the text may be inside an HTML script element.
std::string json_text(std::string_view s);

/// Returns the text with U+FFFD for bytes that are not UTF-8.
std::string valid_utf8(std::string_view s);

}  // namespace lathe
