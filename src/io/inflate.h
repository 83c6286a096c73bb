// DEFLATE (RFC 1951), and the checksum that zip files keep of their members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lathe {

/// Fills `out` with the first bytes of the decompressed data. Returns false when they are damaged or fewer.
/// Never writes beyond `out`, never reads beyond `compressed`.
bool inflate(std::string_view compressed, std::span<char> out);
/// Returns the most bytes that a stream of `compressed` bytes can decompress to.
constexpr uint64_t max_inflated(uint64_t compressed) { return compressed * 1032 + 1032; }

uint32_t crc32(std::string_view bytes);

}  // namespace lathe
