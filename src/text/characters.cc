#include "text/characters.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/letters.h"

namespace lathe::text {
namespace {

struct CharRange {
  char32_t first, last;
};
struct Decompositions {
  char32_t second;
  std::u32string_view pairs;
};

#include "text/unicode_tables.inc"

template <size_t n>
bool within(const CharRange (&ranges)[n], char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &CharRange::first);
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

using Parts = std::pair<char32_t, char32_t>;
const std::unordered_map<char32_t, Parts>& parts_of_characters() {
  static const auto all = [] {
    std::unordered_map<char32_t, Parts> m;
    for (const Decompositions& d : decompositions)
      for (size_t i = 0; i < d.pairs.size(); i += 2) m.emplace(d.pairs[i], Parts(d.pairs[i + 1], d.second));
    return m;
  }();
  return all;
}

/// The Unicode Standard, 3.12: syllables of Hangul are decomposed by arithmetic.
bool decompose_hangul(const Letter& letter, Letters& to) {
  constexpr char32_t first = 0xac00, leads = 0x1100, vowels = 0x1161, tails = 0x11a7;
  constexpr char32_t vowel_count = 21, tail_count = 28, count = 19 * vowel_count * tail_count;
  if (letter.c < first || letter.c >= first + count) return false;
  const char32_t at = letter.c - first, tail = at % tail_count;
  const auto put = [&](char32_t c) { to.push_back({c, letter.bytes, letter.begin}); };
  put(leads + at / (vowel_count * tail_count));
  put(vowels + at / tail_count % vowel_count);
  if (tail) put(tails + tail);
  return true;
}

}  // namespace

Letters letters_of(std::string_view utf8) {
  Letters all;
  all.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size();) {
    Letter l;
    l.begin = i;
    l.bytes = static_cast<uint32_t>(decode_utf8(utf8, i, l.c));
    i += l.bytes;
    all.push_back(l);
  }
  return all;
}

bool is_control(char32_t c) { return within(controls, c); }
bool is_mark(char32_t c) { return c >= 0x300 && within(marks, c); }
bool is_punctuation(char32_t c) { return within(punctuation, c); }
bool is_word(char32_t c) { return within(word_characters, c); }

bool is_space(char32_t c) {
  return c == U' ' || (c >= 0x09 && c <= 0x0d) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_ideograph(char32_t c) {
  // As in BERT, the block that begins at U+2B820 is left out except for its end.
  constexpr CharRange blocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                  {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                                  {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return within(blocks, c);
}

void decompose(const Letter& letter, Letters& to) {
  if (letter.c < 0xc0) return to.push_back(letter);
  if (decompose_hangul(letter, to)) return;
  const auto& all = parts_of_characters();
  const auto at = all.find(letter.c);
  if (at == all.end()) return to.push_back(letter);
  decompose({at->second.first, letter.bytes, letter.begin}, to);
  if (at->second.second) to.push_back({at->second.second, letter.bytes, letter.begin});
}

}  // namespace lathe::text
