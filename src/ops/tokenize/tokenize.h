// com.microsoft.Tokenizer: strings into words, as skl2onnx writes it for CountVectorizer and TfidfVectorizer.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/regex/pattern.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Words are what separators leave, or what `tokenexp` matches. Each row is padded with `pad_value` to the
/// greatest number of words; `mark` puts the characters 2 and 3 around the words of a row.
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
    // A pattern that is none is told when the model is read, wherever there is somebody who can tell.
    if constexpr (std::is_same_v<D, Dim>)
      if (!into_characters() && component("regex").table) (void)patterns();
    c.require(c.rank(0) == 1 || c.rank(0) == 2, "strings of shape [C] or [N, C]", c.text(c.shape(0)));
    const auto most = c.data_dependent();
    if (!most) return;
    std::vector<D> words = c.shape(0);
    words.push_back(*most);
    c.output(0, std::move(words));
  }

  /// Compiled when they are first asked for, for all copies of this node's operator. Thread-safe. Throws
  /// component_absent, node_bad_attribute.
  const std::vector<Pattern>& patterns() const {
    std::call_once(compiled->once, [&] {
      std::vector<Pattern> made;
      for (const std::string& s : separators) made.emplace_back(s, Pattern::Prefer::longest);
      if (separators.empty()) made.emplace_back(tokenexp, Pattern::Prefer::longest);
      compiled->patterns = std::move(made);
    });
    return compiled->patterns;
  }

  struct Compiled {
    std::once_flag once;
    std::vector<Pattern> patterns;
  };
  std::shared_ptr<Compiled> compiled = std::make_shared<Compiled>();  // not an attribute
};

}  // namespace lathe
