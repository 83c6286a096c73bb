// Reads the little-endian fields of GGUF, none beyond the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "lathe/gguf.h"

namespace lathe {

class GgufCursor {
 public:
  explicit GgufCursor(std::string_view bytes) : bytes_(bytes) {}
  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  /// Returns the next bytes; nothing if there are fewer.
  std::optional<std::string_view> take(uint64_t count) {
    if (count > left()) return std::nullopt;
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += static_cast<size_t>(count);
    return taken;
  }
  template <class T>
  std::optional<T> number() {
    const auto taken = take(sizeof(T));
    if (!taken) return std::nullopt;
    T v;
    std::memcpy(&v, taken->data(), sizeof v);
    return v;
  }
  /// A length of 64 bits, and so many bytes.
  std::optional<std::string_view> string() {
    const size_t before = at_;
    const auto length = number<uint64_t>();
    const auto taken = length ? take(*length) : std::nullopt;
    if (!taken) at_ = before;
    return taken;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// Bytes of a number or boolean; 0 for strings and arrays.
constexpr uint64_t gguf_width(GgufValueType type) {
  switch (type) {
    case GgufValueType::uint8:
    case GgufValueType::int8:
    case GgufValueType::boolean:
      return 1;
    case GgufValueType::uint16:
    case GgufValueType::int16:
      return 2;
    case GgufValueType::uint32:
    case GgufValueType::int32:
    case GgufValueType::float32:
      return 4;
    case GgufValueType::uint64:
    case GgufValueType::int64:
    case GgufValueType::float64:
      return 8;
    case GgufValueType::string:
    case GgufValueType::array:
      break;
  }
  return 0;
}

}  // namespace lathe
