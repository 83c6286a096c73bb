#include "ops/cases.h"

namespace lathe {

void cases_regex(CaseTable& t) {
  t.add("RegexFullMatch", "all of it")
      .input<std::string>({2, 2}, {"a1", "a", "xa1", "\u00e41"})
      .attribute("pattern", std::string("\\pL\\d"))
      .expect<bool>({2, 2}, {true, false, false, true});
  t.add("RegexFullMatch", "nothing")
      .input<std::string>({0}, {})
      .attribute("pattern", std::string("a"))
      .expect<bool>({0}, {});
}

}  // namespace lathe
