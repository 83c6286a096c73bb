// Writes JSON call by call, for documents of many thousands of small objects.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"

namespace lathe {

/// Every call writes one value, `member` a name before it; `end` closes the object or array that was opened
/// last. The JSON is valid as long as calls are balanced, in any locale.
class JsonWriter {
 public:
  JsonWriter& object() { return open('{', '}'); }
  JsonWriter& array() { return open('[', ']'); }
  JsonWriter& end() {
    text_ += closing_.back();
    closing_.pop_back();
    first_ = false;
    return *this;
  }
  JsonWriter& member(std::string_view name) {
    separate();
    text_ += json_text(name) + ':';
    first_ = true;
    return *this;
  }
  JsonWriter& text(std::string_view s) { return raw(json_text(s)); }
  /// Writes a number; infinities and NaN, which JSON does not have, become 0.
  JsonWriter& number(double x) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, std::isfinite(x) ? x : 0.0).ptr;
    return raw({buffer, end});
  }
  JsonWriter& boolean(bool x) { return raw(x ? "true" : "false"); }
  /// n / 1000, exactly.
  JsonWriter& thousandths(int64_t n) {
    std::string digits = std::to_string(n < 0 ? -n : n);
    if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
    digits.insert(digits.size() - 3, ".");
    return raw((n < 0 ? "-" : "") + digits);
  }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(char from, char to) {
    separate();
    text_ += from;
    closing_ += to;
    first_ = true;
    return *this;
  }
  JsonWriter& raw(std::string_view s) {
    separate();
    text_ += s;
    first_ = false;
    return *this;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string text_, closing_;
  bool first_ = true;  // of its object or array, or right behind a name
};

}  // namespace lathe
