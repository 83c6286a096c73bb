#include "text/template/lexer.h"

#include <charconv>
#include <cstring>

#include "base/letters.h"
#include "base/utf8.h"
#include "text/template/characters.h"

namespace lathe::jinja {

std::string normalized(std::string_view source) {
  std::string to;
  to.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      to += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      to += source[i];
    }
  }
  if (!to.empty() && to.back() == '\n') to.pop_back();
  return to;
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : s_(source) {}

  std::vector<Lexeme> run() {
    while (at_ < s_.size()) text();
    add(Token::end, s_.size(), {});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(size_t at, std::string got, std::string expected = {},
                         Code code = Code::template_malformed) {
    throw Fault{code, std::move(expected), std::move(got), {}, at};
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0'; }
  bool looks_at(std::string_view what) const { return s_.substr(at_, what.size()) == what; }
  void add(Token token, size_t at, std::string text) { tokens_.push_back({token, at, std::move(text)}); }

  /// The byte after spaces that begin at `i`.
  size_t after_space(size_t i) const { return s_.size() - strip_space(s_.substr(i), true, false).size(); }

  /// Text up to the next tag, and the tag.
  void text() {
    const size_t begin = at_;
    size_t tag = begin;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == s_.npos || tag + 1 >= s_.size()) {
        if (begin < s_.size()) add(Token::data, begin, std::string(s_.substr(begin)));
        at_ = s_.size();
        return;
      }
      if (std::strchr("{%#", s_[tag + 1]) && s_[tag + 1]) break;
    }
    const char kind = s_[tag + 1];
    const char sign = tag + 2 < s_.size() ? s_[tag + 2] : '\0';
    std::string_view before = s_.substr(begin, tag - begin);
    if (sign == '-')
      before = strip_space(before, false, true);
    else if (sign != '+' && kind != '{')
      before = without_indentation(before);
    if (!before.empty()) add(Token::data, begin, std::string(before));
    at_ = tag + 2 + (sign == '-' || sign == '+');
    line_starts_ = false;
    if (kind == '#')
      comment(tag);
    else if (kind == '%' && raw(tag))
      return;
    else if (kind == '%')
      add(Token::block_begin, tag, "{%"), expression(tag, true);
    else
      add(Token::variable_begin, tag, "{{"), expression(tag, false);
  }

  /// Drops spaces between the beginning of the line and a tag.
  std::string_view without_indentation(std::string_view before) const {
    const size_t newline = before.rfind('\n');
    const size_t line = newline == before.npos ? 0 : newline + 1;
    if (line == 0 && !line_starts_) return before;
    if (line < before.size() && strip_space(before.substr(line)).empty()) return before.substr(0, line);
    return before;
  }

  /// Ends a block, a comment or raw text, of which `sign` is the whitespace control and `at_` what follows.
  void after_block(char sign) {
    line_starts_ = false;
    if (sign == '-') {
      const size_t from = at_;
      at_ = after_space(at_);
      line_starts_ = at_ > from && s_[at_ - 1] == '\n';
    } else if (sign != '+' && peek() == '\n') {
      ++at_;
      line_starts_ = true;
    }
  }

  void comment(size_t tag) {
    const size_t end = s_.find("#}", at_);
    if (end == s_.npos) fail(tag, "a comment without end", "'#}'");
    const char sign = end > at_ ? s_[end - 1] : '\0';
    at_ = end + 2;
    after_block(sign == '-' || sign == '+' ? sign : '\0');
  }

  /// Reads raw text if the block begins it.
  bool raw(size_t tag) {
    size_t i = after_space(at_);
    if (s_.substr(i, 3) != "raw") return false;
    i = after_space(i + 3);
    const bool strip = s_.substr(i, 1) == "-";
    if (s_.substr(i + strip, 2) != "%}") return false;
    i += strip + 2U;
    if (strip) i = after_space(i);
    // The end: {% endraw %}, with whitespace control on both sides.
    for (size_t end = s_.find("{%", i); end != s_.npos; end = s_.find("{%", end + 1)) {
      size_t j = end + 2;
      const char before = j < s_.size() ? s_[j] : '\0';
      j += before == '-' || before == '+';
      j = after_space(j);
      if (s_.substr(j, 6) != "endraw") continue;
      j = after_space(j + 6);
      const char sign = j < s_.size() ? s_[j] : '\0';
      if (sign == '-' || sign == '+') ++j;
      if (s_.substr(j, 2) != "%}") continue;
      std::string_view inside = s_.substr(i, end - i);
      line_starts_ = i > 0 && s_[i - 1] == '\n';
      if (before == '-')
        inside = strip_space(inside, false, true);
      else if (before != '+')
        inside = without_indentation(inside);
      if (!inside.empty()) add(Token::data, i, std::string(inside));
      at_ = j + 2;
      after_block(sign == '-' || sign == '+' ? sign : '\0');
      return true;
    }
    fail(tag, "raw text without end", "'{% endraw %}'");
  }

  void expression(size_t tag, bool block) {
    std::string open;  // brackets that wait for their end
    const std::string_view end = block ? "%}" : "}}";
    for (;;) {
      at_ = after_space(at_);
      if (at_ >= s_.size()) fail(tag, "the end of the template", std::string("'") + std::string(end) + "'");
      const size_t begin = at_;
      if (open.empty()) {
        const char sign = (peek() == '-' || (block && peek() == '+')) ? peek() : '\0';
        if (s_.substr(at_ + (sign != 0), 2) == end) {
          at_ += 2U + (sign != 0);
          add(block ? Token::block_end : Token::variable_end, begin, std::string(end));
          if (block)
            after_block(sign);
          else if (line_starts_ = false; sign == '-')
            after_block('-');
          return;
        }
      }
      const char c = peek();
      if (is_digit(c))
        number();
      else if (is_word(c) || static_cast<unsigned char>(c) >= 0x80)
        name();
      else if (c == '\'' || c == '"')
        string();
      else
        operation(open);
    }
  }

  /// The end of digits that may have single underscores between them.
  size_t after_digits(size_t i, bool (*digit)(char) = is_digit) const {
    if (i >= s_.size() || !digit(s_[i])) return i;
    for (++i; i < s_.size(); ++i) {
      if (digit(s_[i])) continue;
      if (s_[i] == '_' && i + 1 < s_.size() && digit(s_[i + 1])) continue;
      break;
    }
    return i;
  }
  std::string without_underscores(size_t from, size_t to) const {
    std::string digits;
    for (size_t i = from; i < to; ++i)
      if (s_[i] != '_') digits += s_[i];
    return digits;
  }

  void number() {
    const size_t begin = at_;
    size_t end = after_digits(begin);
    bool real = false;
    const bool after_dot = begin > 0 && s_[begin - 1] == '.';
    if (!after_dot) {
      size_t i = end;
      if (i + 1 < s_.size() && s_[i] == '.' && is_digit(s_[i + 1])) i = after_digits(i + 1), real = true;
      if (i < s_.size() && (s_[i] == 'e' || s_[i] == 'E')) {
        size_t j = i + 1;
        if (j < s_.size() && (s_[j] == '+' || s_[j] == '-')) ++j;
        if (j < s_.size() && is_digit(s_[j])) i = after_digits(j), real = true;
      }
      if (real) end = i;
    }
    if (real) {
      const std::string digits = without_underscores(begin, end);
      Lexeme l{Token::real, begin, digits};
      l.real = std::strtod(digits.c_str(), nullptr);
      tokens_.push_back(std::move(l));
      at_ = end;
      return;
    }
    int base = 10;
    size_t from = begin;
    if (s_[begin] == '0') {
      const char x = begin + 1 < s_.size() ? static_cast<char>(s_[begin + 1] | 0x20) : '\0';
      const auto other = [&](int b, bool (*digit)(char)) {
        size_t first = begin + 2;
        if (first < s_.size() && s_[first] == '_') ++first;
        const size_t last = after_digits(first, digit);
        if (last > first) base = b, from = first, end = last;
      };
      if (x == 'x') other(16, [](char d) { return std::isxdigit(static_cast<unsigned char>(d)) != 0; });
      if (x == 'o') other(8, [](char d) { return d >= '0' && d <= '7'; });
      if (x == 'b') other(2, [](char d) { return d == '0' || d == '1'; });
      // Decimal numbers do not begin with 0; "007" is three tokens.
      if (base == 10) end = after_digits(begin, [](char d) { return d == '0'; });
    }
    const std::string digits = without_underscores(from, end);
    Lexeme l{Token::integer, begin, digits};
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), l.integer, base);
    if (read.ec != std::errc())
      fail(begin, digits.substr(0, 60), "integers of at most 64 bits", Code::template_unsupported);
    tokens_.push_back(std::move(l));
    at_ = end;
  }

  void name() {
    const size_t begin = at_;
    while (at_ < s_.size() && is_word(s_[at_])) ++at_;
    if (at_ < s_.size() && static_cast<unsigned char>(s_[at_]) >= 0x80) {
      char32_t c = 0;
      decode_utf8(s_, at_, c);
      if (has_flag(c, char_identifier))
        fail(at_, "a letter beyond ASCII", "names in ASCII", Code::template_unsupported);
      if (at_ == begin) fail(at_, "a character that begins no token");
    }
    add(Token::name, begin, std::string(s_.substr(begin, at_ - begin)));
  }

  void string() {
    const size_t begin = at_;
    const char quote = s_[at_++];
    std::string to;
    while (peek() != quote || at_ >= s_.size()) {
      if (at_ >= s_.size()) fail(begin, "a string without end", std::string(1, quote));
      if (peek() == '\\')
        escape(to, begin);
      else
        to += s_[at_++];
    }
    ++at_;
    add(Token::string, begin, std::move(to));
  }

  void escape(std::string& to, size_t begin) {
    const size_t at = at_++;
    if (at_ >= s_.size()) fail(begin, "a string without end");
    const char c = s_[at_++];
    static constexpr char letters[] = "\\'\"abfnrtv\n", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    if (c == '\n') return;
    if (const char* p = std::strchr(letters, c); p && c) {
      to += meanings[p - letters];
      return;
    }
    if (c >= '0' && c <= '7') {
      unsigned value = static_cast<unsigned>(c - '0');
      for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; ++i)
        value = value * 8 + static_cast<unsigned>(s_[at_++] - '0');
      append_utf8(to, value);
      return;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (static_cast<unsigned char>(c) >= 0x80)
      fail(at, "an escaped character beyond ASCII", "another one, or none", Code::template_unsupported);
    if (c == 'N') fail(at, "\\N{…}", "characters by number", Code::template_unsupported);
    if (digits == 0) {
      to += '\\';
      to += c;
      return;
    }
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char d = peek();
      if (!std::isxdigit(static_cast<unsigned char>(d)))
        fail(at, "fewer", std::to_string(digits) + " hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(is_digit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
      ++at_;
    }
    if (value > 0x10ffff) fail(at, "a number beyond Unicode", "a character");
    if (value >= 0xd800 && value < 0xe000)
      fail(at, "half of a surrogate pair", "whole characters", Code::template_unsupported);
    append_utf8(to, value);
  }

  void operation(std::string& open) {
    static constexpr std::string_view operators[] = {"**", "==", "!=", ">=", "<=", "//"};
    const size_t begin = at_;
    for (std::string_view op : operators)
      if (looks_at(op)) {
        at_ += 2;
        add(Token::op, begin, std::string(op));
        return;
      }
    const char c = peek();
    if (!c || !std::strchr("+-/*%~[](){}><=.:|,;", c)) fail(begin, "a character that begins no token");
    ++at_;
    if (std::strchr("([{", c)) {
      if (open.size() >= static_cast<size_t>(max_nesting))
        fail(begin, "more", "at most " + std::to_string(max_nesting) + " open brackets",
             Code::template_too_large);
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (std::strchr(")]}", c)) {
      if (open.empty() || open.back() != c)
        fail(begin, std::string("'") + c + "'", open.empty() ? "" : std::string("'") + open.back() + "'");
      open.pop_back();
    }
    add(Token::op, begin, std::string(1, c));
  }

  std::string_view s_;
  size_t at_ = 0;
  bool line_starts_ = true;
  std::vector<Lexeme> tokens_;
};

}  // namespace

std::vector<Lexeme> tokens_of(std::string_view source) {
  if (!is_utf8(source)) throw Fault{Code::wire_bad_utf8, "a template in UTF-8", "other bytes", {}};
  return Lexer(source).run();
}

}  // namespace lathe::jinja
