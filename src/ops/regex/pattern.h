// A pattern as the component "regex" compiles it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/component.h"
#include "components/regex.h"
#include "lathe/error.h"

namespace lathe {

class Pattern {
 public:
  /// Throws component_absent, node_bad_attribute.
  explicit Pattern(const std::string& text) : regex_(require_component<RegexTable>("regex")) {
    char why[240] = {};
    compiled_ = {regex_.compile(text.data(), text.size(), why, sizeof why), regex_.release};
    if (!compiled_)
      throw Error(Code::node_bad_attribute, "infer", "a pattern in the syntax of RE2",
                  "'" + text + "': " + why, "https://github.com/google/re2/wiki/Syntax");
  }
  bool matches(const std::string& text) const {
    return regex_.matches(compiled_.get(), text.data(), text.size());
  }

 private:
  const RegexTable& regex_;
  std::unique_ptr<void, void (*)(void*)> compiled_{nullptr, [](void*) {}};
};

/// Thread-safe.
class LazyPattern {
 public:
  const Pattern& get(const std::string& text) {
    std::call_once(once_, [&] { pattern_ = std::make_unique<Pattern>(text); });
    return *pattern_;
  }

 private:
  std::once_flag once_;
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace lathe
