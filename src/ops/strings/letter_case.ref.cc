#include "ops/strings/letter_case.h"

#include <cstdint>

namespace lathe {
namespace {

/// Upper-case letters first … last; the lower-case ones lie `distance` further. Step 2: upper and lower
/// alternate.
struct LetterRange {
  char32_t first, last;
  int distance, step;
};
constexpr LetterRange ranges[] = {
    {0x0041, 0x005a, 32, 1},     {0x00c0, 0x00d6, 32, 1},     {0x00d8, 0x00de, 32, 1},
    {0x0100, 0x012e, 1, 2},      {0x0132, 0x0136, 1, 2},      {0x0139, 0x0147, 1, 2},
    {0x014a, 0x0176, 1, 2},      {0x0178, 0x0178, -121, 1},   {0x0179, 0x017d, 1, 2},
    {0x0181, 0x0181, 210, 1},    {0x0182, 0x0184, 1, 2},      {0x0186, 0x0186, 206, 1},
    {0x0187, 0x0187, 1, 1},      {0x0189, 0x018a, 205, 1},    {0x018b, 0x018b, 1, 1},
    {0x018e, 0x018e, 79, 1},     {0x018f, 0x018f, 202, 1},    {0x0190, 0x0190, 203, 1},
    {0x0191, 0x0191, 1, 1},      {0x0193, 0x0193, 205, 1},    {0x0194, 0x0194, 207, 1},
    {0x0196, 0x0196, 211, 1},    {0x0197, 0x0197, 209, 1},    {0x0198, 0x0198, 1, 1},
    {0x019c, 0x019c, 211, 1},    {0x019d, 0x019d, 213, 1},    {0x019f, 0x019f, 214, 1},
    {0x01a0, 0x01a4, 1, 2},      {0x01a6, 0x01a6, 218, 1},    {0x01a7, 0x01a7, 1, 1},
    {0x01a9, 0x01a9, 218, 1},    {0x01ac, 0x01ac, 1, 1},      {0x01ae, 0x01ae, 218, 1},
    {0x01af, 0x01af, 1, 1},      {0x01b1, 0x01b2, 217, 1},    {0x01b3, 0x01b5, 1, 2},
    {0x01b7, 0x01b7, 219, 1},    {0x01b8, 0x01b8, 1, 1},      {0x01bc, 0x01bc, 1, 1},
    {0x01c4, 0x01c4, 2, 1},      {0x01c7, 0x01c7, 2, 1},      {0x01ca, 0x01ca, 2, 1},
    {0x01cd, 0x01db, 1, 2},      {0x01de, 0x01ee, 1, 2},      {0x01f1, 0x01f1, 2, 1},
    {0x01f4, 0x01f4, 1, 1},      {0x01f6, 0x01f6, -97, 1},    {0x01f7, 0x01f7, -56, 1},
    {0x01f8, 0x021e, 1, 2},      {0x0220, 0x0220, -130, 1},   {0x0222, 0x0232, 1, 2},
    {0x023a, 0x023a, 10795, 1},  {0x023b, 0x023b, 1, 1},      {0x023d, 0x023d, -163, 1},
    {0x023e, 0x023e, 10792, 1},  {0x0241, 0x0241, 1, 1},      {0x0243, 0x0243, -195, 1},
    {0x0244, 0x0244, 69, 1},     {0x0245, 0x0245, 71, 1},     {0x0246, 0x024e, 1, 2},
    {0x0370, 0x0372, 1, 2},      {0x0376, 0x0376, 1, 1},      {0x037f, 0x037f, 116, 1},
    {0x0386, 0x0386, 38, 1},     {0x0388, 0x038a, 37, 1},     {0x038c, 0x038c, 64, 1},
    {0x038e, 0x038f, 63, 1},     {0x0391, 0x03a1, 32, 1},     {0x03a3, 0x03ab, 32, 1},
    {0x03cf, 0x03cf, 8, 1},      {0x03d8, 0x03ee, 1, 2},      {0x03f7, 0x03f7, 1, 1},
    {0x03f9, 0x03f9, -7, 1},     {0x03fa, 0x03fa, 1, 1},      {0x03fd, 0x03ff, -130, 1},
    {0x0400, 0x040f, 80, 1},     {0x0410, 0x042f, 32, 1},     {0x0460, 0x0480, 1, 2},
    {0x048a, 0x04be, 1, 2},      {0x04c0, 0x04c0, 15, 1},     {0x04c1, 0x04cd, 1, 2},
    {0x04d0, 0x052e, 1, 2},      {0x0531, 0x0556, 48, 1},     {0x10a0, 0x10c5, 7264, 1},
    {0x10c7, 0x10c7, 7264, 1},   {0x10cd, 0x10cd, 7264, 1},   {0x13a0, 0x13ef, 38864, 1},
    {0x13f0, 0x13f5, 8, 1},      {0x1c90, 0x1cba, -3008, 1},  {0x1cbd, 0x1cbf, -3008, 1},
    {0x1e00, 0x1e94, 1, 2},      {0x1ea0, 0x1efe, 1, 2},      {0x1f08, 0x1f0f, -8, 1},
    {0x1f18, 0x1f1d, -8, 1},     {0x1f28, 0x1f2f, -8, 1},     {0x1f38, 0x1f3f, -8, 1},
    {0x1f48, 0x1f4d, -8, 1},     {0x1f59, 0x1f5f, -8, 2},     {0x1f68, 0x1f6f, -8, 1},
    {0x1f88, 0x1f8f, -8, 1},     {0x1f98, 0x1f9f, -8, 1},     {0x1fa8, 0x1faf, -8, 1},
    {0x1fb8, 0x1fb9, -8, 1},     {0x1fba, 0x1fbb, -74, 1},    {0x1fbc, 0x1fbc, -9, 1},
    {0x1fc8, 0x1fcb, -86, 1},    {0x1fcc, 0x1fcc, -9, 1},     {0x1fd8, 0x1fd9, -8, 1},
    {0x1fda, 0x1fdb, -100, 1},   {0x1fe8, 0x1fe9, -8, 1},     {0x1fea, 0x1feb, -112, 1},
    {0x1fec, 0x1fec, -7, 1},     {0x1ff8, 0x1ff9, -128, 1},   {0x1ffa, 0x1ffb, -126, 1},
    {0x1ffc, 0x1ffc, -9, 1},     {0x2132, 0x2132, 28, 1},     {0x2160, 0x216f, 16, 1},
    {0x2183, 0x2183, 1, 1},      {0x24b6, 0x24cf, 26, 1},     {0x2c00, 0x2c2f, 48, 1},
    {0x2c60, 0x2c60, 1, 1},      {0x2c62, 0x2c62, -10743, 1}, {0x2c63, 0x2c63, -3814, 1},
    {0x2c64, 0x2c64, -10727, 1}, {0x2c67, 0x2c6b, 1, 2},      {0x2c6d, 0x2c6d, -10780, 1},
    {0x2c6e, 0x2c6e, -10749, 1}, {0x2c6f, 0x2c6f, -10783, 1}, {0x2c70, 0x2c70, -10782, 1},
    {0x2c72, 0x2c72, 1, 1},      {0x2c75, 0x2c75, 1, 1},      {0x2c7e, 0x2c7f, -10815, 1},
    {0x2c80, 0x2ce2, 1, 2},      {0x2ceb, 0x2ced, 1, 2},      {0x2cf2, 0x2cf2, 1, 1},
    {0xa640, 0xa66c, 1, 2},      {0xa680, 0xa69a, 1, 2},      {0xa722, 0xa72e, 1, 2},
    {0xa732, 0xa76e, 1, 2},      {0xa779, 0xa77b, 1, 2},      {0xa77d, 0xa77d, -35332, 1},
    {0xa77e, 0xa786, 1, 2},      {0xa78b, 0xa78b, 1, 1},      {0xa78d, 0xa78d, -42280, 1},
    {0xa790, 0xa792, 1, 2},      {0xa796, 0xa7a8, 1, 2},      {0xa7aa, 0xa7aa, -42308, 1},
    {0xa7ab, 0xa7ab, -42319, 1}, {0xa7ac, 0xa7ac, -42315, 1}, {0xa7ad, 0xa7ad, -42305, 1},
    {0xa7ae, 0xa7ae, -42308, 1}, {0xa7b0, 0xa7b0, -42258, 1}, {0xa7b1, 0xa7b1, -42282, 1},
    {0xa7b2, 0xa7b2, -42261, 1}, {0xa7b3, 0xa7b3, 928, 1},    {0xa7b4, 0xa7c2, 1, 2},
    {0xa7c4, 0xa7c4, -48, 1},    {0xa7c5, 0xa7c5, -42307, 1}, {0xa7c6, 0xa7c6, -35384, 1},
    {0xa7c7, 0xa7c9, 1, 2},      {0xa7d0, 0xa7d0, 1, 1},      {0xa7d6, 0xa7d8, 1, 2},
    {0xa7f5, 0xa7f5, 1, 1},      {0xff21, 0xff3a, 32, 1},     {0x10400, 0x10427, 40, 1},
    {0x104b0, 0x104d3, 40, 1},   {0x10570, 0x1057a, 39, 1},   {0x1057c, 0x1058a, 39, 1},
    {0x1058c, 0x10592, 39, 1},   {0x10594, 0x10595, 39, 1},   {0x10c80, 0x10cb2, 64, 1},
    {0x118a0, 0x118bf, 32, 1},   {0x16e40, 0x16e5f, 32, 1},   {0x1e900, 0x1e921, 34, 1}};

/// Letters with a way but none back: titles, symbols, and the forms that some letters have at the end of
/// words.
struct LetterPair {
  char32_t from, to;
};
constexpr LetterPair only_lower[] = {{0x0130, 0x0069}, {0x01c5, 0x01c6}, {0x01c8, 0x01c9}, {0x01cb, 0x01cc},
                                     {0x01f2, 0x01f3}, {0x03f4, 0x03b8}, {0x1e9e, 0x00df}, {0x2126, 0x03c9},
                                     {0x212a, 0x006b}, {0x212b, 0x00e5}};
constexpr LetterPair only_upper[] = {{0x00b5, 0x039c}, {0x0131, 0x0049}, {0x017f, 0x0053}, {0x01c5, 0x01c4},
                                     {0x01c8, 0x01c7}, {0x01cb, 0x01ca}, {0x01f2, 0x01f1}, {0x0345, 0x0399},
                                     {0x03c2, 0x03a3}, {0x03d0, 0x0392}, {0x03d1, 0x0398}, {0x03d5, 0x03a6},
                                     {0x03d6, 0x03a0}, {0x03f0, 0x039a}, {0x03f1, 0x03a1}, {0x03f5, 0x0395},
                                     {0x1c80, 0x0412}, {0x1c81, 0x0414}, {0x1c82, 0x041e}, {0x1c83, 0x0421},
                                     {0x1c84, 0x0422}, {0x1c85, 0x0422}, {0x1c86, 0x042a}, {0x1c87, 0x0462},
                                     {0x1c88, 0xa64a}, {0x1e9b, 0x1e60}, {0x1fbe, 0x0399}};

char32_t lower_letter(char32_t c) {
  for (const LetterRange& r : ranges)
    if (c >= r.first && c <= r.last && (c - r.first) % static_cast<char32_t>(r.step) == 0)
      return static_cast<char32_t>(static_cast<int64_t>(c) + r.distance);
  for (const LetterPair& p : only_lower)
    if (c == p.from) return p.to;
  return c;
}

char32_t upper_letter(char32_t c) {
  for (const LetterRange& r : ranges) {
    const auto u = static_cast<char32_t>(static_cast<int64_t>(c) - r.distance);
    if (u >= r.first && u <= r.last && (u - r.first) % static_cast<char32_t>(r.step) == 0) return u;
  }
  for (const LetterPair& p : only_upper)
    if (c == p.from) return p.to;
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

void append_utf8(std::string& to, char32_t c) {
  const auto follow = [&](int shift) { to += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xc0 | c >> 6);
    follow(0);
  } else if (c < 0x10000) {
    to += static_cast<char>(0xe0 | c >> 12);
    follow(6);
    follow(0);
  } else {
    to += static_cast<char>(0xf0 | c >> 18);
    follow(12);
    follow(6);
    follow(0);
  }
}

constexpr char32_t dot_above = 0x0307;

/// Where a character sits on the letter before it; those that are no marks begin a new one. Marks of the
/// block U+0300 alone: others do not go with Latin letters.
enum class Mark : uint8_t { none, above, elsewhere };
Mark mark_of(char32_t c) {
  if (c < 0x0300 || c > 0x036f || c == 0x034f) return Mark::none;
  constexpr LetterPair above[] = {{0x0300, 0x0314}, {0x033d, 0x0344}, {0x0346, 0x0346}, {0x034a, 0x034c},
                                  {0x0350, 0x0352}, {0x0357, 0x0357}, {0x035b, 0x035b}, {0x0363, 0x036f}};
  for (const LetterPair& p : above)
    if (c >= p.from && c <= p.to) return Mark::above;
  return Mark::elsewhere;
}

/// The first mark above a letter that `rest` follows; 0 where there is none.
char32_t first_above(std::string_view rest) {
  char32_t c = 0;
  while (!rest.empty()) {
    const size_t length = decode_utf8(rest, 0, c);
    const Mark mark = length ? mark_of(c) : Mark::none;
    if (mark == Mark::none) return 0;
    if (mark == Mark::above) return c;
    rest.remove_prefix(length);
  }
  return 0;
}

/// What languages change otherwise, by Unicode's SpecialCasing.txt; null: nothing. `bare`: the letter that a
/// mark at `c` would be the first above of, else 0.
const char* special_lower(CaseRules rules, char32_t c, char32_t bare, std::string_view rest) {
  if (rules == CaseRules::turkic) {
    if (c == U'I' && first_above(rest) != dot_above) return "\u0131";
    return c == dot_above && bare == U'I' ? "" : nullptr;  // the dot of the i
  }
  switch (c) {
    case U'I':
      return first_above(rest) ? "i\u0307" : nullptr;
    case U'J':
      return first_above(rest) ? "j\u0307" : nullptr;
    case 0x012e:
      return first_above(rest) ? "\u012f\u0307" : nullptr;
    case 0x00cc:
      return "i\u0307\u0300";
    case 0x00cd:
      return "i\u0307\u0301";
    case 0x0128:
      return "i\u0307\u0303";
    default:
      return nullptr;
  }
}
const char* special_upper(CaseRules rules, char32_t c, char32_t bare, std::string_view) {
  if (rules == CaseRules::turkic) return c == U'i' ? "\u0130" : nullptr;
  constexpr std::u32string_view dotted = U"ij\u012f\u0249\u0268\u029d\u0456\u0458\u1e2d\u1ecb";
  return c == dot_above && dotted.find(bare) != dotted.npos ? "" : nullptr;
}

template <char32_t (*letter)(char32_t), auto special>
std::string map_letters(std::string_view text, CaseRules rules, Poller& poll) {
  const bool has_own = rules == CaseRules::turkic || rules == CaseRules::lithuanian;
  std::string result;
  result.reserve(text.size());
  char32_t bare = 0;
  for (size_t i = 0; i < text.size();) {
    poll.did(4);
    char32_t c = 0;
    const size_t length = decode_utf8(text, i, c), step = length ? length : 1;
    const char* own = length && has_own ? special(rules, c, bare, text.substr(i + length)) : nullptr;
    const char32_t other = length && (c < 0x80 || rules != CaseRules::ascii) ? letter(c) : c;
    if (own)
      result += own;
    else if (length == 0 || other == c)
      result.append(text.substr(i, step));
    else
      append_utf8(result, other);
    const Mark mark = length ? mark_of(c) : Mark::none;
    if (mark != Mark::elsewhere) bare = length && mark == Mark::none ? c : 0;
    i += step;
  }
  return result;
}

}  // namespace

std::string lower_case(std::string_view text, CaseRules rules, Poller& poll) {
  return map_letters<lower_letter, special_lower>(text, rules, poll);
}
std::string upper_case(std::string_view text, CaseRules rules, Poller& poll) {
  return map_letters<upper_letter, special_upper>(text, rules, poll);
}

}  // namespace lathe
