// The rules of locales for letters that change case.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe {

/// `root` are Unicode's own rules. Turkish and Azeri have an i with a dot and one without; Lithuanian keeps
/// the dot of an i below an accent.
enum class CaseRules : uint8_t { root, ascii, turkic, lithuanian };

/// The rules of a locale by its name: a language of two or three letters, whatever follows ("tr_TR.UTF-8",
/// "lt-LT"); an empty name means the root's. "C" and "POSIX" are ascii. Nothing for other names.
inline std::optional<CaseRules> case_rules(std::string_view locale) {
  if (locale == "C" || locale == "POSIX") return CaseRules::ascii;
  const std::string_view language = locale.substr(0, locale.find_first_of("_-.@"));
  if (locale.empty() || language == "C") return CaseRules::root;  // "C.UTF-8"
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (language.size() < 2 || language.size() > 3 || !std::all_of(language.begin(), language.end(), letter))
    return std::nullopt;
  const auto is = [&](std::string_view a, std::string_view b) {
    const auto same = [](char x, char y) { return (x | ' ') == y; };
    return std::equal(language.begin(), language.end(), a.begin(), a.end(), same) ||
           std::equal(language.begin(), language.end(), b.begin(), b.end(), same);
  };
  return is("tr", "tur") || is("az", "aze") ? CaseRules::turkic
         : is("lt", "lit")                  ? CaseRules::lithuanian
                                            : CaseRules::root;
}

}  // namespace lathe
