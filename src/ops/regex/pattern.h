// A pattern as the component "regex" compiles it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/component.h"
#include "components/regex.h"
#include "lathe/error.h"

namespace lathe {

class Pattern {
 public:
  /// The match that is preferred of several at the same position: that of the first alternative, or the
  /// longest.
  enum class Prefer : bool { first, longest };

  /// Throws component_absent, node_bad_attribute.
  explicit Pattern(const std::string& text, Prefer prefer = Prefer::first)
      : regex_(&require_component<RegexTable>("regex")) {
    char why[240] = {};
    compiled_ = {regex_->compile(text.data(), text.size(), prefer == Prefer::longest, why, sizeof why),
                 regex_->release};
    if (!compiled_)
      throw Error(Code::node_bad_attribute, "infer", "a pattern in the syntax of RE2",
                  "'" + text + "': " + why, "https://github.com/google/re2/wiki/Syntax");
  }
  bool matches(const std::string& text) const {
    return regex_->matches(compiled_.get(), text.data(), text.size());
  }
  /// The first match of `text` that begins at `from` or behind it: the text before `from` still counts for ^
  /// and \b. Null data if there is none; a match may be empty.
  std::string_view find(std::string_view text, size_t from) const {
    size_t begin = 0, end = 0;
    if (!regex_->find(compiled_.get(), text.data(), text.size(), from, &begin, &end)) return {};
    return text.substr(begin, end - begin);
  }

 private:
  const RegexTable* regex_;
  std::unique_ptr<void, void (*)(void*)> compiled_{nullptr, [](void*) {}};
};

/// Patterns that are compiled at the first use, for all copies of an operator that share this. Thread-safe.
class LazyPatterns {
 public:
  const std::vector<Pattern>& get(std::span<const std::string> texts,
                                  Pattern::Prefer prefer = Pattern::Prefer::first) {
    std::call_once(once_, [&] {
      std::vector<Pattern> made;
      for (const std::string& text : texts) made.emplace_back(text, prefer);
      patterns_ = std::move(made);
    });
    return patterns_;
  }

 private:
  std::once_flag once_;
  std::vector<Pattern> patterns_;
};

}  // namespace lathe
