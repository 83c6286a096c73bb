#include "ops/cases.h"

namespace lathe {

void cases_tokenize(CaseTable& t) {
  using Strings = std::vector<std::string>;
  t.add("Tokenizer", "what an expression matches", "com.microsoft")
      .input<std::string>({2}, {"a cat sat", "on mats"})
      .attribute("mark", int64_t{0})
      .attribute("mincharnum", int64_t{1})
      .attribute("pad_value", std::string("#"))
      .attribute("tokenexp", std::string("[a-z]+"))
      .expect<std::string>({2, 3}, {"a", "cat", "sat", "on", "mats", "#"});
  t.add("Tokenizer", "between separators, marked", "com.microsoft")
      .input<std::string>({2, 1}, {"a, bc;d", "\u00e4\u00f6"})
      .attribute("mark", int64_t{1})
      .attribute("mincharnum", int64_t{2})
      .attribute("pad_value", std::string())
      .attribute("separators", Strings{";", "[, ]+"})
      .expect<std::string>({2, 1, 3}, {"\x02", "bc", "\x03", "\x02", "\u00e4\u00f6", "\x03"});
  t.add("Tokenizer", "characters", "com.microsoft")
      .input<std::string>({2}, {"\u00e4b", ""})
      .attribute("mark", int64_t{1})
      .attribute("mincharnum", int64_t{1})
      .attribute("pad_value", std::string("-"))
      .attribute("separators", Strings{""})
      .expect<std::string>({2, 4}, {"\x02", "\u00e4", "b", "\x03", "\x02", "\x03", "-", "-"});
  t.add("Tokenizer", "the longest alternative", "com.microsoft")
      .input<std::string>({1}, {"abab"})
      .attribute("mark", int64_t{0})
      .attribute("mincharnum", int64_t{1})
      .attribute("pad_value", std::string())
      .attribute("tokenexp", std::string("a|ab"))
      .expect<std::string>({1, 2}, {"ab", "ab"});
}

}  // namespace lathe
