// UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace lathe {

inline bool is_utf8(std::string_view s) {
  size_t i = 0;
  const auto at = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  while (i < s.size()) {
    for (uint64_t eight; i + 8 <= s.size(); i += 8) {
      std::memcpy(&eight, s.data() + i, 8);
      if (eight & 0x8080808080808080u) break;
    }
    if (i == s.size()) break;
    const unsigned char c = at(i);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || s.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k)
      if ((at(i + k) & 0xc0) != 0x80) return false;
    const unsigned char second = at(i + 1);
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second > 0x8f))
      return false;
    i += length;
  }
  return true;
}

}  // namespace lathe
