#include "text/template/characters.h"

#include <algorithm>
#include <cstddef>

#include "base/letters.h"

namespace lathe::jinja {

namespace {

struct CharacterRange {
  uint32_t first, length;
  uint16_t flags;
};
struct CaseRun {
  uint32_t first, last;
  int32_t stride, delta;
};
struct CaseString {
  uint32_t c;
  const char* text;
};

#include "text/template/character_cases.inc"
#include "text/template/character_ranges.inc"

constexpr char32_t capital_sigma = 0x3a3;

template <size_t R, size_t S>
void append_mapped(std::string& to, char32_t c, const CaseRun (&runs)[R], const CaseString (&strings)[S]) {
  const auto* s = std::lower_bound(std::begin(strings), std::end(strings), c,
                                   [](const CaseString& a, char32_t b) { return a.c < b; });
  if (s != std::end(strings) && s->c == c) {
    to += s->text;
    return;
  }
  // Runs with a stride of two may overlap their neighbors, so some before the last candidate are tried.
  const auto* r = std::upper_bound(std::begin(runs), std::end(runs), c,
                                   [](char32_t a, const CaseRun& b) { return a < b.first; });
  for (int tries = 0; r != std::begin(runs) && tries < 4; ++tries) {
    --r;
    if (c <= r->last && (c - r->first) % static_cast<uint32_t>(r->stride) == 0) {
      append_utf8(to, static_cast<char32_t>(static_cast<int64_t>(c) + r->delta));
      return;
    }
  }
  append_utf8(to, c);
}

/// Returns whether the sigma at `i` ends its word.
bool is_final_sigma(std::u32string_view text, size_t i) {
  const auto cased_from = [&](size_t at, ptrdiff_t step, size_t end) {
    for (; at != end; at += static_cast<size_t>(step)) {
      const uint16_t flags = character_flags(text[at]);
      if (flags & char_ignorable) continue;
      return (flags & char_cased) != 0;
    }
    return false;
  };
  return cased_from(i - 1, -1, static_cast<size_t>(-1)) && !cased_from(i + 1, 1, text.size());
}

void append_lower(std::string& to, std::u32string_view text, size_t i) {
  if (text[i] == capital_sigma)
    append_utf8(to, is_final_sigma(text, i) ? 0x3c2 : 0x3c3);
  else
    append_mapped(to, text[i], lower_runs, lower_strings);
}

template <class AsciiLetter>
std::string ascii_mapped(std::string_view text, AsciiLetter letter) {
  std::string to(text);
  for (char& c : to) c = letter(c);
  return to;
}

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace

uint16_t character_flags(char32_t c) {
  const auto* r = std::upper_bound(std::begin(character_ranges), std::end(character_ranges), c,
                                   [](char32_t a, const CharacterRange& b) { return a < b.first; });
  if (r == std::begin(character_ranges)) return 0;
  --r;
  return c - r->first < r->length ? r->flags : uint16_t{0};
}

std::u32string decode(std::string_view utf8) {
  std::u32string to;
  to.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size();) {
    char32_t c = 0;
    const size_t n = decode_utf8(utf8, i, c);
    to += n ? c : U'\xfffd';
    i += n ? n : 1;
  }
  return to;
}

std::string encode(std::u32string_view text) {
  std::string to;
  to.reserve(text.size());
  for (char32_t c : text) append_utf8(to, c);
  return to;
}

size_t character_count(std::string_view utf8) {
  size_t count = 0;
  for (char c : utf8) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

size_t byte_of_character(std::string_view utf8, size_t index) {
  for (size_t i = 0; i < utf8.size(); ++i)
    if ((static_cast<unsigned char>(utf8[i]) & 0xc0) != 0x80 && index-- == 0) return i;
  return utf8.size();
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string lower_text(std::string_view text) {
  if (is_ascii(text)) return ascii_mapped(text, ascii_lower);
  const std::u32string all = decode(text);
  std::string to;
  for (size_t i = 0; i < all.size(); ++i) append_lower(to, all, i);
  return to;
}

std::string upper_text(std::string_view text) {
  if (is_ascii(text)) return ascii_mapped(text, ascii_upper);
  std::string to;
  for (char32_t c : decode(text)) append_mapped(to, c, upper_runs, upper_strings);
  return to;
}

std::string title_text(std::string_view text) {
  const std::u32string all = decode(text);
  std::string to;
  bool in_word = false;
  for (size_t i = 0; i < all.size(); ++i) {
    if (in_word)
      append_lower(to, all, i);
    else
      append_mapped(to, all[i], title_runs, title_strings);
    const uint16_t flags = character_flags(all[i]);
    in_word = (flags & (char_cased | char_lower | char_upper | char_title)) != 0;
  }
  return to;
}

std::string capitalize_text(std::string_view text) {
  const std::u32string all = decode(text);
  std::string to;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0)
      append_mapped(to, all[i], title_runs, title_strings);
    else
      append_lower(to, all, i);
  }
  return to;
}

std::string casefold_text(std::string_view text) {
  std::string to;
  for (char32_t c : decode(text)) {
    std::string folded;
    append_mapped(folded, c, fold_runs, fold_strings);
    char32_t same = 0;
    // Cherokee letters fold to their capitals; others fold to what is small, where the table has nothing
    // else.
    const bool cherokee = c >= 0x13a0 && c <= 0x13f5;
    if (!cherokee && decode_utf8(folded, 0, same) == folded.size() && same == c) {
      folded.clear();
      append_mapped(folded, c, lower_runs, lower_strings);
    }
    to += folded;
  }
  return to;
}

std::string swapcase_text(std::string_view text) {
  const std::u32string all = decode(text);
  std::string to;
  for (size_t i = 0; i < all.size(); ++i) {
    const uint16_t flags = character_flags(all[i]);
    if (flags & char_upper)
      append_lower(to, all, i);
    else if (flags & char_lower)
      append_mapped(to, all[i], upper_runs, upper_strings);
    else
      append_utf8(to, all[i]);
  }
  return to;
}

std::string_view strip_space(std::string_view text, bool left, bool right) {
  size_t begin = 0, end = text.size();
  while (left && begin < end) {
    char32_t c = 0;
    const size_t n = decode_utf8(text, begin, c);
    if (n == 0 || !has_flag(c, char_space)) break;
    begin += n;
  }
  while (right && end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    char32_t c = 0;
    if (decode_utf8(text, at, c) == 0 || !has_flag(c, char_space)) break;
    end = at;
  }
  return text.substr(begin, end - begin);
}

}  // namespace lathe::jinja
