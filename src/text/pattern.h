// Patterns that texts are split at: characters, strings, regular expressions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::text {

/// A part of a text: bytes [begin, end), and whether the pattern matched it.
struct PatternPart {
  size_t begin, end;
  bool match;
};

/// Reports what is wrong with a pattern, or that it takes too long; callers make an Error of it.
struct PatternFault {
  std::string expected, got;
  bool too_slow = false;
};

/// A compiled regular expression in the syntax of Oniguruma, as far as tokenizers use it. Immutable;
/// thread-safe.
class Regex {
 public:
  /// Throws PatternFault for syntax that it does not know. `tiktoken`: with the rules of its files.
  static std::shared_ptr<const Regex> compile(std::string_view pattern, bool tiktoken = false);
  virtual ~Regex() = default;
  /// Cuts all of the text into matches and what is between them. Throws PatternFault if that takes more than
  /// a published number of steps for each byte of the text.
  virtual void cut(std::string_view text, std::vector<PatternPart>& to) const = 0;
};

/// A string or a regular expression.
class Pattern {
 public:
  Pattern() = default;
  explicit Pattern(std::string literal) : literal_(std::move(literal)) {}
  explicit Pattern(std::shared_ptr<const Regex> regex) : regex_(std::move(regex)) {}
  void cut(std::string_view text, std::vector<PatternPart>& to) const;

 private:
  std::string literal_;
  std::shared_ptr<const Regex> regex_;
};

}  // namespace lathe::text
