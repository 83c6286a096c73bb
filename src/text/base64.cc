#include "text/base64.h"

#include <cstdint>

namespace lathe::text {

std::optional<std::string> base64_bytes(std::string_view s) {
  std::string to;
  uint32_t bits = 0;
  int count = 0;
  size_t i = 0;
  for (; i < s.size() && s[i] != '='; ++i) {
    const char c = s[i];
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(v);
    if ((count += 6) >= 8) count -= 8, to += static_cast<char>(bits >> count & 0xff);
  }
  if (s.size() % 4 != 0 || s.size() - i > 2) return std::nullopt;
  return to;
}

}  // namespace lathe::text
