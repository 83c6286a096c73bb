// StringNormalizer, StringConcat, StringSplit.
#pragma once

#include <optional>

#include "ops/elementwise/elementwise.h"
#include "ops/strings/case_rules.h"

namespace lathe {

struct StringNormalizer {
  std::string case_change_action = "NONE";
  bool is_case_sensitive = false;
  std::string locale;
  std::vector<std::string> stopwords;
  void fields(auto&& f) {
    f("case_change_action", case_change_action);
    f("is_case_sensitive", is_case_sensitive);
    f("locale", locale);
    f("stopwords", stopwords);
  }
  /// Otherwise the locale does not matter.
  bool changes_case() const {
    return case_change_action != "NONE" || (!is_case_sensitive && !stopwords.empty());
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (case_change_action != "NONE" && case_change_action != "LOWER" && case_change_action != "UPPER")
      c.fail(Code::node_bad_attribute, "case_change_action to be NONE, LOWER or UPPER",
             "'" + case_change_action + "'", {});
    if (changes_case() && !case_rules(locale))
      c.fail(Code::node_bad_attribute, "locale to be a language and what follows it, as in tr_TR.UTF-8",
             "'" + locale + "'", {});
    const auto rows = c.rank(0) == 2 ? known(c.shape(0)[0]) : std::optional<int64_t>(1);
    c.require((c.rank(0) == 1 || c.rank(0) == 2) && (!rows || *rows == 1), "strings of shape [C] or [1, C]",
              c.text(c.shape(0)));
    const auto left = c.data_dependent();
    if (!left) return;
    if (c.rank(0) == 2)
      c.output(0, {D(1), *left});
    else
      c.output(0, {*left});
  }
};

struct StringConcat : Broadcasting {};

/// Outputs: the pieces, padded with empty strings to the greatest number of them; the numbers.
struct StringSplit {
  std::string delimiter;  // empty: white space, however much of it
  std::optional<int64_t> maxsplit;
  void fields(auto&& f) {
    f("delimiter", delimiter);
    f("maxsplit", maxsplit);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(1, c.shape(0));
    const auto most = c.data_dependent();
    if (!most) return;
    std::vector<D> pieces = c.shape(0);
    pieces.push_back(*most);
    c.output(0, std::move(pieces));
  }
};

}  // namespace lathe
