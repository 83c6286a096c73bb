// Splits the ONNX text format into words, numbers and quoted strings.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "lathe/error.h"
#include "lathe/run_control.h"
#include "onnx/text.h"

namespace lathe::onnx::text {

class Scanner {
 public:
  /// `control` may be null.
  Scanner(std::string_view all, RunControl* control) : all_(all), control_(control) {}

  [[noreturn]] void fail(std::string expected) const {
    const auto line = 1 + std::count(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    const size_t start = at_ == 0 ? 0 : all_.rfind('\n', at_ - 1) + 1;  // npos + 1: the first line
    Diagnostic d;
    d.code = Code::text_syntax;
    d.stage = "parse text";
    d.node = "line " + std::to_string(line) + ", column " + std::to_string(at_ - start + 1);
    d.expected = std::move(expected);
    d.got = at_ == all_.size() ? "the end of the text" : "'" + std::string(all_.substr(at_, 24)) + "'";
    d.remedy = "see the syntax in docs/Syntax.md of the onnx project";
    throw Error(std::move(d));
  }

  /// Returns the next character that is no space or comment; 0 at the end.
  char peek() {
    did(1);
    for (;;) {
      while (at_ < all_.size() && is_space(all_[at_])) ++at_;
      if (at_ == all_.size()) return 0;
      if (all_[at_] != '#') return all_[at_];
      at_ = std::min(all_.find('\n', at_), all_.size());
    }
  }
  bool take(char c) {
    if (peek() != c || at_ == all_.size()) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail("'" + std::string(1, c) + "'");
  }
  bool at_end() { return peek() == 0 && at_ == all_.size(); }

  /// Returns an identifier; empty if none begins.
  std::string_view word() {
    peek();
    const size_t from = at_;
    if (at_ < all_.size() && is_letter(all_[at_]))
      while (at_ < all_.size() && (is_letter(all_[at_]) || is_digit(all_[at_]))) ++at_;
    return all_.substr(from, at_ - from);
  }
  std::string_view peek_word() {
    const std::string_view w = word();
    at_ -= w.size();
    return w;
  }

  std::string quoted() {
    need('"');
    std::string s;
    while (at_ < all_.size() && all_[at_] != '"') {
      if (all_[at_] == '\\' && ++at_ == all_.size()) break;
      s += all_[at_++];
    }
    if (at_ == all_.size()) fail("a closing quote");
    ++at_;
    did(s.size());
    return s;
  }

  /// Returns the characters of a number: digits, a fraction, an exponent; or inf, infinity, nan; with a sign.
  std::string_view number() {
    peek();
    const size_t from = at_;
    if (at_ < all_.size() && all_[at_] == '-') ++at_;
    if (is_number_word(peek_word())) {
      word();
    } else {
      const size_t digits = at_;
      while (at_ < all_.size() && (is_digit(all_[at_]) || all_[at_] == '.')) ++at_;
      if (at_ == digits) fail("a number");
      if (at_ < all_.size() && (all_[at_] == 'e' || all_[at_] == 'E')) {
        ++at_;
        if (at_ < all_.size() && (all_[at_] == '+' || all_[at_] == '-')) ++at_;
        while (at_ < all_.size() && is_digit(all_[at_])) ++at_;
      }
    }
    return all_.substr(from, at_ - from);
  }
  static bool is_integer(std::string_view number) {
    return std::all_of(number.begin() + number.starts_with('-'), number.end(), is_digit);
  }
  template <class T>
  T as(std::string_view number) const {
    T v{};
    const auto r = std::from_chars(number.data(), number.data() + number.size(), v);
    if (r.ec == std::errc() && r.ptr == number.data() + number.size()) return v;
    const bool tiny = r.ec == std::errc::result_out_of_range && number.find("e-") != std::string_view::npos;
    if (std::is_floating_point_v<T> && tiny) return T{0};
    fail("a number that fits, not " + std::string(number));
  }
  template <class T>
  T number_of() {
    return as<T>(number());
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  /// Checks `control` after every 65,536 characters.
  void did(size_t characters) {
    if (!control_ || (since_check_ += characters) < 65536) return;
    control_->check();
    since_check_ = 0;
  }

  std::string_view all_;
  RunControl* control_;
  size_t at_ = 0, since_check_ = 0;
};

}  // namespace lathe::onnx::text
