// Wire format by hand, for files that no library would write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::testing {

inline std::string varint(uint64_t v) {
  std::string s;
  for (; v >= 0x80; v >>= 7) s += static_cast<char>(v | 0x80);
  return s + static_cast<char>(v);
}
inline std::string tag(uint64_t number, int type) {
  return varint(number << 3 | static_cast<uint64_t>(type));
}
/// A field of bytes, text or a message.
inline std::string field(uint64_t number, std::string_view bytes) {
  return tag(number, 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string number(uint64_t field_number, uint64_t v) { return tag(field_number, 0) + varint(v); }

}  // namespace lathe::testing
