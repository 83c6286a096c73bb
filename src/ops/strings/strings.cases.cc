#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_strings(CaseTable& t) {
  t.add("StringNormalizer", "stop words, lower")
      .input<std::string>({3}, {"monday", "Tuesday", "WEDNESDAY"})
      .attribute("case_change_action", std::string("LOWER"))
      .attribute("stopwords", std::vector<std::string>{"MONDAY"})
      .expect<std::string>({2}, {"tuesday", "wednesday"});
  t.add("StringNormalizer", "case-sensitive, upper")
      .input<std::string>({1, 2}, {"monday", "\u00e4pfel \u0436"})
      .attribute("case_change_action", std::string("UPPER"))
      .attribute("is_case_sensitive", int64_t{1})
      .attribute("stopwords", std::vector<std::string>{"MONDAY"})
      .expect<std::string>({1, 2}, {"MONDAY", "\u00c4PFEL \u0416"});
  const auto changed = [&](const char* name, const char* to, const char* locale,
                           std::vector<std::string> from, std::vector<std::string> expected) {
    const auto n = static_cast<int64_t>(from.size());
    t.add("StringNormalizer", name)
        .input<std::string>({n}, std::move(from))
        .attribute("case_change_action", std::string(to))
        .attribute("locale", std::string(locale))
        .expect<std::string>({n}, std::move(expected));
  };
  // An i with a dot and one without, whether the dot is part of the letter or a mark of its own.
  changed("turkish, lower", "LOWER", "tr_TR.UTF-8", {"DI\u015e", "\u0130I\u0307", "I\u0323\u0307"},
          {"d\u0131\u015f", "ii", "i\u0323"});
  changed("azeri, upper", "UPPER", "az", {"\u0131i"}, {"I\u0130"});
  // The i keeps its dot below an accent, and loses it again.
  changed(
      "lithuanian, lower", "LOWER", "lt-LT", {"I\u0300J\u0328\u0301 I", "\u012e\u0303\u00cc\u00cd\u0128"},
      {"i\u0307\u0300j\u0307\u0328\u0301 i", "\u012f\u0307\u0303i\u0307\u0300i\u0307\u0301i\u0307\u0303"});
  changed("lithuanian, upper", "UPPER", "lt", {"i\u0307\u0300\u012f\u0307", "a\u0307"},
          {"I\u0300\u012e", "A\u0307"});
  changed("locale C", "UPPER", "C", {"a\u00e4"}, {"A\u00e4"});
  changed("all letters, lower", "LOWER", "en_US.UTF-8", {"\u0130\u01c5\u04c1\u10a0\u1f08\uff21\U00010400"},
          {"i\u01c6\u04c2\u2d00\u1f00\uff41\U00010428"});
  changed("all letters, upper", "UPPER", "", {"\u00b5\u0131\u017f\u0180\u03c2\u04cf\u10d0"},
          {"\u039cIS\u0243\u03a3\u04c0\u1c90"});
  t.add("StringNormalizer", "turkish stop words")
      .input<std::string>({3}, {"I", "\u0131", "i"})
      .attribute("locale", std::string("tr"))
      .attribute("stopwords", std::vector<std::string>{"\u0131"})
      .expect<std::string>({1}, {"i"});
  t.add("StringNormalizer", "a locale that does not matter")
      .input<std::string>({1}, {"I"})
      .attribute("locale", std::string("Klingon"))
      .expect<std::string>({1}, {"I"});
  t.add("StringNormalizer", "nothing left")
      .input<std::string>({1, 1}, {"a"})
      .attribute("stopwords", std::vector<std::string>{"a"})
      .expect<std::string>({1, 1}, {""});
  t.add("StringConcat", "broadcast")
      .input<std::string>({2}, {"a", ""})
      .input<std::string>({}, {"x"})
      .expect<std::string>({2}, {"ax", "x"});
  t.add("StringSplit", "white space")
      .input<std::string>({2}, {"  hello   world ", ""})
      .expect<std::string>({2, 2}, {"hello", "world", "", ""})
      .expect<int64_t>({2}, {2, 0});
  t.add("StringSplit", "delimiter, at most one split")
      .input<std::string>({2}, {"a,b,c", ","})
      .attribute("delimiter", std::string(","))
      .attribute("maxsplit", int64_t{1})
      .expect<std::string>({2, 2}, {"a", "b,c", "", ""})
      .expect<int64_t>({2}, {2, 2});
}

}  // namespace lathe
