#include "ops/strings/letter_case.h"

#include <cstdint>
#include <utility>

#include "base/letters.h"

namespace lathe {
namespace {

constexpr char32_t dot_above = 0x0307;

/// The position of a mark on the letter before it; characters that are no marks begin a new letter. Only
/// marks of the block U+0300 count: others do not go with Latin letters.
enum class Mark : uint8_t { none, above, elsewhere };
Mark mark_of(char32_t c) {
  if (c < 0x0300 || c > 0x036f || c == 0x034f) return Mark::none;
  constexpr std::pair<char32_t, char32_t> above[] = {{0x0300, 0x0314}, {0x033d, 0x0344}, {0x0346, 0x0346},
                                                     {0x034a, 0x034c}, {0x0350, 0x0352}, {0x0357, 0x0357},
                                                     {0x035b, 0x035b}, {0x0363, 0x036f}};
  for (const auto& [first, last] : above)
    if (c >= first && c <= last) return Mark::above;
  return Mark::elsewhere;
}

/// The first mark above a letter that `rest` follows; 0 if there is none.
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

/// The replacement by a language's own rules in Unicode's SpecialCasing.txt; null if there is none. `bare`:
/// the letter that has no mark above it before `c`, else 0.
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
