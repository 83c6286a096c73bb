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
