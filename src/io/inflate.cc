#include "io/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lathe {
namespace {

/// Bits, lowest first. Reading past the end gives zeros and is remembered.
class Bits {
 public:
  explicit Bits(std::string_view bytes) : bytes_(bytes) {}
  uint32_t take(unsigned count) {
    while (held_ < count) {
      if (at_ < bytes_.size())
        buffer_ |= uint64_t{static_cast<unsigned char>(bytes_[at_++])} << held_;
      else
        exhausted_ = true;
      held_ += 8;
    }
    const auto v = static_cast<uint32_t>(buffer_ & ((uint64_t{1} << count) - 1));
    buffer_ >>= count;
    held_ -= count;
    return v;
  }
  /// Returns at most `count` bytes that follow the byte that was begun.
  std::string_view take_bytes(size_t count) {
    const std::string_view piece = bytes_.substr(at_, count);
    at_ += piece.size();
    return piece;
  }
  void to_byte() {
    buffer_ = 0;
    held_ = 0;
  }
  bool exhausted() const { return exhausted_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint64_t buffer_ = 0;
  unsigned held_ = 0;
  bool exhausted_ = false;
};

constexpr unsigned longest_code = 15;

/// A canonical Huffman code: how many codes have each length, and the symbols in the order of their codes.
class Huffman {
 public:
  /// False when there are more codes than their lengths allow.
  bool build(std::span<const uint8_t> lengths) {
    counts_.fill(0);
    for (uint8_t n : lengths) ++counts_[n];
    counts_[0] = 0;
    int free = 1;
    std::array<uint16_t, longest_code + 2> first{};
    for (unsigned n = 1; n <= longest_code; ++n) {
      free = free * 2 - counts_[n];
      if (free < 0) return false;
      first[n + 1] = static_cast<uint16_t>(first[n] + counts_[n]);
    }
    for (size_t s = 0; s < lengths.size(); ++s)
      if (lengths[s]) symbols_[first[lengths[s]]++] = static_cast<uint16_t>(s);
    return true;
  }
  /// Returns the next symbol; -1 for an invalid code.
  int next(Bits& bits) const {
    int code = 0, first = 0, index = 0;
    for (unsigned n = 1; n <= longest_code; ++n) {
      code |= static_cast<int>(bits.take(1));
      const int count = counts_[n];
      if (code - first < count) return symbols_[static_cast<size_t>(index + code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    return -1;
  }

 private:
  std::array<uint16_t, longest_code + 1> counts_{};
  std::array<uint16_t, 288> symbols_{};
};

struct Codes {
  Huffman literals, distances;
};

bool fixed_codes(Codes& c) {
  std::array<uint8_t, 288> lengths;
  std::fill(lengths.begin(), lengths.begin() + 144, 8);
  std::fill(lengths.begin() + 144, lengths.begin() + 256, 9);
  std::fill(lengths.begin() + 256, lengths.begin() + 280, 7);
  std::fill(lengths.begin() + 280, lengths.end(), 8);
  std::array<uint8_t, 30> distances;
  distances.fill(5);
  return c.literals.build(lengths) && c.distances.build(distances);
}

/// The code lengths of both codes are themselves Huffman-coded, with runs (RFC 1951, 3.2.7).
bool dynamic_codes(Bits& bits, Codes& c) {
  static constexpr uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const size_t literals = bits.take(5) + 257, distances = bits.take(5) + 1, coded = bits.take(4) + 4;
  if (literals > 286 || distances > 30) return false;
  std::array<uint8_t, 19> code_lengths{};
  for (size_t i = 0; i < coded; ++i) code_lengths[order[i]] = static_cast<uint8_t>(bits.take(3));
  Huffman code;
  if (!code.build(code_lengths)) return false;
  std::array<uint8_t, 286 + 30> lengths{};
  for (size_t i = 0; i < literals + distances;) {
    const int symbol = code.next(bits);
    if (symbol < 0 || bits.exhausted()) return false;
    if (symbol < 16) {
      lengths[i++] = static_cast<uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const uint8_t value = symbol == 16 ? lengths[i - 1] : uint8_t{0};
    const size_t run = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    if (run > literals + distances - i) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), run, value);
    i += run;
  }
  const std::span<const uint8_t> all(lengths);
  return c.literals.build(all.first(literals)) && c.distances.build(all.subspan(literals, distances));
}

/// Writes what fits: `full()` ends the work early, which is how a header alone is read.
class Output {
 public:
  explicit Output(std::span<char> out) : out_(out) {}
  bool full() const { return at_ == out_.size(); }
  void put(char c) { out_[at_++] = c; }
  bool repeat(size_t distance, size_t length) {
    if (distance > at_) return false;
    for (length = std::min(length, out_.size() - at_); length > 0; --length, ++at_)
      out_[at_] = out_[at_ - distance];
    return true;
  }
  void put(std::string_view bytes) {
    const size_t n = std::min(bytes.size(), out_.size() - at_);
    if (n) std::memcpy(out_.data() + at_, bytes.data(), n);
    at_ += n;
  }

 private:
  std::span<char> out_;
  size_t at_ = 0;
};

bool compressed_block(Bits& bits, const Codes& codes, Output& out) {
  static constexpr uint16_t lengths[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static constexpr uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                              2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static constexpr uint16_t distances[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                             33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                             1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  while (!out.full()) {
    const int symbol = codes.literals.next(bits);
    if (symbol < 0 || bits.exhausted()) return false;
    if (symbol == 256) return true;
    if (symbol < 256) {
      out.put(static_cast<char>(symbol));
      continue;
    }
    const auto l = static_cast<size_t>(symbol - 257);
    if (l >= 29) return false;
    const size_t length = lengths[l] + bits.take(length_bits[l]);
    const int d = codes.distances.next(bits);
    if (d < 0 || d >= 30) return false;
    const unsigned extra = d < 4 ? 0 : static_cast<unsigned>(d) / 2 - 1;
    const size_t distance = distances[d] + bits.take(extra);
    if (bits.exhausted() || !out.repeat(distance, length)) return false;
  }
  return true;
}

bool stored_block(Bits& bits, Output& out) {
  bits.to_byte();
  const uint32_t length = bits.take(16), inverted = bits.take(16);
  if (bits.exhausted() || (length ^ inverted) != 0xffff) return false;
  const std::string_view bytes = bits.take_bytes(length);
  out.put(bytes);
  return bytes.size() == length || out.full();
}

}  // namespace

bool inflate(std::string_view compressed, std::span<char> to) {
  Bits bits(compressed);
  Output out(to);
  for (bool last = false; !last && !out.full();) {
    last = bits.take(1) != 0;
    const uint32_t kind = bits.take(2);
    if (bits.exhausted() || kind == 3) return false;
    if (kind == 0) {
      if (!stored_block(bits, out)) return false;
      continue;
    }
    Codes codes;
    if (kind == 1 ? !fixed_codes(codes) : !dynamic_codes(bits, codes)) return false;
    if (!compressed_block(bits, codes, out)) return false;
  }
  return out.full();
}

uint32_t crc32(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t c = ~0u;
  for (char b : bytes) c = table[(c ^ static_cast<unsigned char>(b)) & 255] ^ (c >> 8);
  return ~c;
}

}  // namespace lathe
