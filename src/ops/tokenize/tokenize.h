// com.microsoft.Tokenizer: splits strings into words, as skl2onnx writes it for CountVectorizer and
// TfidfVectorizer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/regex/pattern.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Words are the text between separators, or the matches of `tokenexp`. Each row is padded with `pad_value`
/// to the greatest number of words; `mark` puts the characters 2 and 3 around the words of a row.
struct TokenizeStrings {
  int64_t mark = 0;
  std::string pad_value;
  std::string tokenexp;
  std::vector<std::string> separators;  // patterns; one empty string: every character is a word
  int64_t mincharnum = 1;               // words of fewer characters are left out
  void fields(auto&& f) {
    f("mark", mark);
    f("pad_value", pad_value);
    f("tokenexp", tokenexp);
    f("separators", separators);
    f("mincharnum", mincharnum);
  }

  bool into_characters() const {
    return separators.empty() ? tokenexp == "." : separators.size() == 1 && separators[0].empty();
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (separators.empty() && tokenexp.empty())
      c.fail(Code::node_bad_attribute, "separators or tokenexp", "neither", {});
    if (mincharnum < 1 || (mincharnum > 1 && into_characters()))
      c.fail(Code::node_bad_attribute,
             into_characters() ? "mincharnum 1 where each character is a word" : "mincharnum of 1 or more",
             std::to_string(mincharnum), {});
    // Malformed patterns are reported when the model is read, if the component is installed.
    if constexpr (std::is_same_v<D, Dim>)
      if (!into_characters() && component("regex").table) (void)patterns();
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "strings of shape [C] or [N, C]", c.text(c.shape(0)));
    const auto most = c.data_dependent();
    if (!most) return;
    std::vector<D> words = c.shape(0);
    words.push_back(*most);
    c.output(0, std::move(words));
  }

  /// Throws component_absent, node_bad_attribute.
  const std::vector<Pattern>& patterns() const {
    const std::span<const std::string> texts =
        separators.empty() ? std::span(&tokenexp, 1) : std::span<const std::string>(separators);
    return compiled->get(texts, Pattern::Prefer::longest);
  }

  std::shared_ptr<LazyPatterns> compiled = std::make_shared<LazyPatterns>();  // not an attribute
};

}  // namespace lathe
