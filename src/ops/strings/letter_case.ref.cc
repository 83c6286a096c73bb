#include "ops/strings/letter_case.h"

#include <array>
#include <cstdint>

namespace lathe {
namespace {

/// Upper-case letters first … last; the lower-case ones lie `distance` further. Step 2: upper and lower
/// alternate.
struct LetterRange {
  char32_t first, last;
  int distance, step;
};
constexpr std::array ranges = {
    LetterRange{U'A', U'Z', 32, 1},     LetterRange{0x00c0, 0x00d6, 32, 1},
    LetterRange{0x00d8, 0x00de, 32, 1}, LetterRange{0x0100, 0x012e, 1, 2},
    LetterRange{0x0132, 0x0136, 1, 2},  LetterRange{0x0139, 0x0147, 1, 2},
    LetterRange{0x014a, 0x0176, 1, 2},  LetterRange{0x0178, 0x0178, -121, 1},
    LetterRange{0x0179, 0x017d, 1, 2},  LetterRange{0x0386, 0x0386, 38, 1},
    LetterRange{0x0388, 0x038a, 37, 1}, LetterRange{0x038c, 0x038c, 64, 1},
    LetterRange{0x038e, 0x038f, 63, 1}, LetterRange{0x0391, 0x03a1, 32, 1},
    LetterRange{0x03a3, 0x03ab, 32, 1}, LetterRange{0x0400, 0x040f, 80, 1},
    LetterRange{0x0410, 0x042f, 32, 1}, LetterRange{0x0460, 0x0480, 1, 2},
    LetterRange{0x048a, 0x04be, 1, 2},  LetterRange{0x04d0, 0x052e, 1, 2},
    LetterRange{0x0531, 0x0556, 48, 1}, LetterRange{0x1e00, 0x1e94, 1, 2},
    LetterRange{0x1ea0, 0x1efe, 1, 2},
};

char32_t lower_letter(char32_t c) {
  for (const LetterRange& r : ranges)
    if (c >= r.first && c <= r.last && (c - r.first) % static_cast<char32_t>(r.step) == 0)
      return static_cast<char32_t>(static_cast<int64_t>(c) + r.distance);
  return c;
}

char32_t upper_letter(char32_t c) {
  for (const LetterRange& r : ranges) {
    const auto u = static_cast<char32_t>(static_cast<int64_t>(c) - r.distance);
    if (u >= r.first && u <= r.last && (u - r.first) % static_cast<char32_t>(r.step) == 0) return u;
  }
  return c;
}

/// Reads one character at `i`; its length, or 0 when the bytes are not UTF-8.
size_t decode_utf8(std::string_view s, size_t i, char32_t& c) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned lead = byte(i);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || i + length > s.size()) return 0;
  c = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
    c = c << 6 | (byte(i + k) & 0x3fu);
  }
  return length;
}

/// Only letters of the table are written anew: two bytes or three at most.
void append_utf8(std::string& to, char32_t c) {
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xc0 | c >> 6);
    to += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    to += static_cast<char>(0xe0 | c >> 12);
    to += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (c & 0x3f));
  }
}

template <class F>
std::string map_letters(std::string_view text, Poller& poll, F map) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    poll.did(4);
    char32_t c = 0;
    const size_t length = decode_utf8(text, i, c);
    const char32_t other = length ? map(c) : c;
    if (length == 0 || other == c)
      result.append(text.substr(i, length ? length : 1));
    else
      append_utf8(result, other);
    i += length ? length : 1;
  }
  return result;
}

}  // namespace

std::string lower_case(std::string_view text, Poller& poll) { return map_letters(text, poll, lower_letter); }
std::string upper_case(std::string_view text, Poller& poll) { return map_letters(text, poll, upper_letter); }

}  // namespace lathe
