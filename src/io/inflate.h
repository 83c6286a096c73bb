// DEFLATE (RFC 1951), and the checksum that zip files keep of their members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lathe {

/// Fills `out` with the first bytes that `compressed` stands for. False when it is damaged or has fewer.
/// Never writes beyond `out`, never reads beyond `compressed`.
bool inflate(std::string_view compressed, std::span<char> out);
/// No stream of `compressed` bytes stands for more than this.
constexpr uint64_t most_inflated(uint64_t compressed) { return compressed * 1032 + 1032; }

uint32_t crc32(std::string_view bytes);

}  // namespace lathe
