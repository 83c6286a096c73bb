// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::text {

/// Returns the bytes; nothing for what is no base64 or lacks its padding.
std::optional<std::string> base64_bytes(std::string_view s);

}  // namespace lathe::text
