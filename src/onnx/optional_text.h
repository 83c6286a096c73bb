// Optional texts of messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// An optional field as text: absent is empty.
inline std::string_view text(const std::optional<std::string>& s) {
  return s ? std::string_view(*s) : std::string_view();
}

}  // namespace lathe
