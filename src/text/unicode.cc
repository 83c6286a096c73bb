#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "base/letters.h"

namespace lathe::text {
namespace {

#include "text/tokenizer_tables.inc"

constexpr char32_t hangul_first = 0xac00, hangul_leads = 0x1100, hangul_vowels = 0x1161,
                   hangul_tails = 0x11a7, hangul_vowel_count = 21, hangul_tail_count = 28,
                   hangul_count = 19 * hangul_vowel_count * hangul_tail_count;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'z' ? c - 'a' + 10 : -1;
}

/// Reads a number in base 36 at `i`, and moves behind it.
uint32_t read_base36(std::string_view s, size_t& i) {
  uint32_t n = 0;
  for (int d = 0; i < s.size() && (d = digit_of(s[i])) >= 0; ++i) n = n * 36 + static_cast<uint32_t>(d);
  return n;
}

/// Calls each(key, values) for the items of a mapping: "key:value.value;", keys as distances.
template <class Each>
void read_mapping(std::string_view s, const Each& each) {
  char32_t key = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    key += read_base36(s, i);
    std::u32string to;
    while (s[i] != ';') to += static_cast<char32_t>(read_base36(s, ++i));
    each(key, std::move(to));
  }
}

using Decomposed = std::unordered_map<char32_t, std::u32string>;
const Decomposed& decompositions_of(bool compatible_too) {
  static const std::array<Decomposed, 2> both = [] {
    std::array<Decomposed, 2> m;
    read_mapping(canonical, [&](char32_t c, std::u32string to) { m[0].emplace(c, std::move(to)); });
    m[1] = m[0];
    read_mapping(compatible, [&](char32_t c, std::u32string to) { m[1][c] = std::move(to); });
    return m;
  }();
  return both[compatible_too];
}

const CharacterTable& classes_of_marks() {
  static const CharacterTable t(combining_classes, true);
  return t;
}

/// Returns the composition; 0: there is none.
char32_t composed(char32_t a, char32_t b) {
  static const auto pairs = [] {
    std::unordered_map<uint64_t, char32_t> m;
    read_mapping(compositions, [&](char32_t c, const std::u32string& from) {
      m.emplace(static_cast<uint64_t>(from[0]) << 32 | from[1], c);
    });
    return m;
  }();
  if (a >= hangul_leads && a < hangul_leads + 19) {
    if (b >= hangul_vowels && b < hangul_vowels + hangul_vowel_count)
      return hangul_first +
             ((a - hangul_leads) * hangul_vowel_count + (b - hangul_vowels)) * hangul_tail_count;
  } else if (a >= hangul_first && a < hangul_first + hangul_count) {
    if ((a - hangul_first) % hangul_tail_count == 0 && b > hangul_tails &&
        b < hangul_tails + hangul_tail_count)
      return a + (b - hangul_tails);
  }
  const auto at = pairs.find(static_cast<uint64_t>(a) << 32 | b);
  return at == pairs.end() ? 0 : at->second;
}

/// Marks are sorted by their classes between characters that have none.
class Ordered {
 public:
  explicit Ordered(std::vector<Change>& to) : to_(to) {}
  void put(char32_t c, int32_t removed) {
    const uint8_t k = classes_of_marks()[c];
    if (k == 0) flush();
    if (k == 0)
      to_.push_back({c, removed});
    else
      marks_.push_back({k, {c, removed}});
  }
  void flush() {
    if (marks_.empty()) return;
    std::ranges::stable_sort(marks_, {}, &Mark::order);
    for (const Mark& m : marks_) to_.push_back(m.change);
    marks_.clear();
  }

 private:
  struct Mark {
    uint8_t order;
    Change change;
  };
  std::vector<Change>& to_;
  std::vector<Mark> marks_;
};

std::vector<Change> decomposed(std::string_view utf8, bool compatible_too) {
  const Decomposed& all = decompositions_of(compatible_too);
  std::vector<Change> to;
  to.reserve(utf8.size());
  Ordered ordered(to);
  for (size_t i = 0; i < utf8.size();) {
    char32_t c = 0;
    i += std::max<size_t>(1, decode_utf8(utf8, i, c));
    if (c < 0xa0) {
      ordered.put(c, 0);
    } else if (c >= hangul_first && c < hangul_first + hangul_count) {
      const char32_t at = c - hangul_first, tail = at % hangul_tail_count;
      ordered.put(hangul_leads + at / (hangul_vowel_count * hangul_tail_count), 0);
      ordered.put(hangul_vowels + at / hangul_tail_count % hangul_vowel_count, 1);
      if (tail) ordered.put(hangul_tails + tail, 1);
    } else if (const auto found = all.find(c); found != all.end()) {
      int32_t inserted = 0;
      for (char32_t part : found->second) ordered.put(part, inserted), inserted = 1;
    } else {
      ordered.put(c, 0);
    }
  }
  ordered.flush();
  return to;
}

/// The Unicode Standard, 3.11: a mark composes with the last starter unless one of its class or above is
/// between them.
std::vector<Change> recomposed(const std::vector<Change>& from) {
  std::vector<Change> to;
  to.reserve(from.size());
  size_t starter = SIZE_MAX;
  int last = -1;
  for (const Change& next : from) {
    const int k = classes_of_marks()[next.c];
    if (starter == SIZE_MAX) {
      if (k == 0) starter = to.size(), last = -1;
      to.push_back(next);
      continue;
    }
    if (last < k) {
      if (const char32_t c = composed(to[starter].c, next.c)) {
        to[starter] = {c, to[starter].removed + next.removed - 1};
        continue;
      }
    }
    if (k == 0)
      starter = to.size(), last = -1;
    else
      last = k;
    to.push_back(next);
  }
  return to;
}

}  // namespace

CharacterTable::CharacterTable(std::string_view runs, bool wide) {
  std::vector<uint8_t> all;
  all.reserve(0x110000);
  for (size_t i = 0; i < runs.size();) {
    int value = runs[i++] - 'A';
    if (wide) value = value * 26 + (runs[i++] - 'A');
    all.insert(all.end(), read_base36(runs, i), static_cast<uint8_t>(value));
  }
  all.resize(0x110000);
  std::map<std::string_view, uint32_t> known;
  for (size_t block = 0; block < all.size(); block += 256) {
    const std::string_view bytes(reinterpret_cast<const char*>(all.data()) + block, 256);
    const auto [at, is_new] = known.emplace(bytes, static_cast<uint32_t>(pages_.size()));
    if (is_new) pages_.insert(pages_.end(), bytes.begin(), bytes.end());
    first_.push_back(at->second);
  }
}

const CharacterTable& general_categories() {
  static const CharacterTable t(categories, true);
  return t;
}

uint32_t category_set(std::string_view name) {
  uint32_t set = 0;
  for (size_t i = 0; i < category_names.size() / 2; ++i)
    if (category_names.substr(i * 2, name.size()) == name && (name.size() == 1 || name.size() == 2))
      set |= uint32_t{1} << i;
  return set;
}

const CharacterTable& scripts_in_patterns() {
  static const CharacterTable t(pattern_scripts);
  return t;
}

uint8_t script_class(std::string_view name) {
  uint8_t number = 1;
  for (size_t i = 0; i < script_names.size(); ++number) {
    const size_t end = std::min(script_names.find(' ', i), script_names.size());
    if (script_names.substr(i, end - i) == name) return number;
    i = end + 1;
  }
  return 0;
}

const CharacterTable& splitting_scripts() {
  static const CharacterTable t(splitting_script_runs, true);
  return t;
}

const CharacterTable& cluster_classes() {
  static const CharacterTable t(cluster_runs);
  return t;
}

bool is_pattern_word(char32_t c) {
  static const CharacterTable t(pattern_word_runs);
  return t[c];
}
bool is_word(char32_t c) {
  static const CharacterTable t(word_runs);
  return t[c];
}
bool is_numeric(char32_t c) {
  static const CharacterTable t(numeric_runs);
  return t[c];
}
bool is_combining(char32_t c) {
  static const CharacterTable t(combining_runs);
  return t[c];
}
bool is_control(char32_t c) {
  static const CharacterTable t(control_runs);
  return t[c];
}
bool is_accent(char32_t c) {
  static const CharacterTable t(accent_runs);
  return t[c];
}
bool is_punctuation(char32_t c) {
  static const CharacterTable t(punctuation_runs);
  return t[c];
}

bool is_ideograph(char32_t c) {
  // As in BERT, the block that begins at U+2B820 is left out except for its end.
  return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) ||
         (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0x2f800 && c <= 0x2fa1f);
}

bool is_space(char32_t c) {
  return c == U' ' || (c >= 0x09 && c <= 0x0d) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

char32_t lower_case(char32_t c) {
  static const auto all = [] {
    std::unordered_map<char32_t, char32_t> m;
    char32_t first = 0;
    const std::string_view s = lower_letters;
    for (size_t i = 0; i < s.size(); ++i) {
      first += read_base36(s, i);
      const uint32_t step = read_base36(s, ++i), count = read_base36(s, ++i);
      const bool down = s[i + 1] == '-';
      if (down) ++i;
      const uint32_t distance = read_base36(s, ++i);
      for (uint32_t k = 0; k < count; ++k) {
        const char32_t from = first + k * step;
        m.emplace(from, down ? from - distance : from + distance);
      }
    }
    m.emplace(char32_t{0x130}, U'i');
    return m;
  }();
  if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + 32 : c;
  const auto at = all.find(c);
  return at == all.end() ? c : at->second;
}

std::vector<Change> normal_form(std::string_view utf8, Form form) {
  std::vector<Change> parts = decomposed(utf8, form == Form::nfkd || form == Form::nfkc);
  return form == Form::nfd || form == Form::nfkd ? parts : recomposed(parts);
}

bool has_form(std::string_view utf8, Form form) {
  // Characters below U+0300 compose with nothing before them; below U+00A0 nothing decomposes, below U+00C0
  // nothing does canonically.
  const unsigned char limit = form == Form::nfc ? 0xcc : 0xc2, second = form == Form::nfd ? 0xc0 : 0xa0;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto b = static_cast<unsigned char>(utf8[i]);
    if (b < 0x80 || (b & 0xc0) == 0x80) continue;
    if (b > limit || (b == limit && form == Form::nfc)) return false;
    if (form != Form::nfc && static_cast<unsigned char>(utf8[i + 1]) >= second) return false;
  }
  return true;
}

}  // namespace lathe::text
