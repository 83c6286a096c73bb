// text % values, as Python has it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/letters.h"
#include "text/template/characters.h"
#include "text/template/filters.h"

namespace lathe::jinja {

namespace {

constexpr int64_t widest_field = 1'000'000;

class PercentFormatter {
 public:
  PercentFormatter(const std::string& text, const Value& values) : s_(text), values_(values) {
    single_ = !values.is(Kind::tuple);
  }

  std::string run() {
    std::string out;
    bool named = false;
    while (at_ < s_.size()) {
      const size_t percent = std::min(s_.find('%', at_), s_.size());
      out.append(s_, at_, percent - at_);
      at_ = percent;
      if (at_ >= s_.size()) break;
      ++at_;
      named |= field(out);
      if (out.size() > max_output)
        too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
    }
    const bool all_used = single_ ? used_ > 0 || values_.is(Kind::dict) || values_.is(Kind::list) ||
                                        values_.is(Kind::range) || values_.is(Kind::undefined)
                                  : used_ == values_.as_items().size();
    if (!named && !all_used) raise("more values", "as many values as the format has fields");
    return out;
  }

 private:
  char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }

  Value next_value() {
    if (single_ ? used_ > 0 : used_ >= values_.as_items().size())
      raise("fewer values", "as many values as the format has fields");
    ++used_;
    return single_ ? values_ : values_.as_items()[used_ - 1];
  }

  int64_t size_field() {
    if (peek() == '*') {
      ++at_;
      const Value v = next_value();
      if (!v.is_integral()) raise("another value", "an integer for '*'");
      return v.as_int();
    }
    int64_t n = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      n = n * 10 + (peek() - '0');
      if (n > widest_field)
        too_large("more", "fields of at most " + std::to_string(widest_field) + " characters");
    }
    return n;
  }

  /// Returns whether the field names its value.
  bool field(std::string& out) {
    Meter::step();
    const Value* value = nullptr;
    Value found;
    bool named = false;
    if (peek() == '(') {
      int open = 1;
      const size_t begin = ++at_;
      for (; at_ < s_.size() && open > 0; ++at_) open += s_[at_] == '(' ? 1 : s_[at_] == ')' ? -1 : 0;
      if (open > 0) raise("a name without end", "')' in the format");
      const std::string key = s_.substr(begin, at_ - 1 - begin);
      if (!values_.is(Kind::dict))
        raise(std::string("a value of type ") + values_.type_name(), "a dict for a format with names");
      const Value* v = values_.as_dict().find(key);
      if (!v) raise("'" + key + "'", "a key of the dict");
      found = *v;
      value = &found;
      named = true;
    }
    left_ = plus_ = space_ = sharp_ = zero_ = false;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-')
        left_ = true;
      else if (c == '+')
        plus_ = true;
      else if (c == ' ')
        space_ = true;
      else if (c == '#')
        sharp_ = true;
      else if (c == '0')
        zero_ = true;
      else
        break;
    }
    width_ = size_field();
    if (width_ < 0) left_ = true, width_ = -width_;
    precision_ = -1;
    if (peek() == '.') {
      ++at_;
      precision_ = std::max<int64_t>(size_field(), 0);
    }
    if (width_ > widest_field || precision_ > widest_field)
      too_large("more", "fields of at most " + std::to_string(widest_field) + " characters");
    if (peek() && std::strchr("hlL", peek())) ++at_;
    if (at_ >= s_.size()) raise("a format that ends within a field", "a letter after '%'");
    const char type = s_[at_++];
    if (type == '%') {
      out += '%';
      return named;
    }
    if (!value) {
      found = next_value();
      value = &found;
    }
    convert(out, type, *value);
    return named;
  }

  void pad(std::string& out, std::string sign, std::string body, bool number) {
    const auto length = static_cast<int64_t>(character_count(sign) + character_count(body));
    const int64_t fill = std::max<int64_t>(width_ - length, 0);
    if (left_)
      out += sign + body + std::string(static_cast<size_t>(fill), ' ');
    else if (zero_ && number)
      out += sign + std::string(static_cast<size_t>(fill), '0') + body;
    else
      out += std::string(static_cast<size_t>(fill), ' ') + sign + body;
  }

  void convert(std::string& out, char type, const Value& v) {
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        if (v.is_markup()) unsupported("a safe string as a value of '%'");
        std::string text = type == 's' ? to_text(v) : to_repr(v);
        if (type == 'a' && !is_ascii(text)) unsupported("%a of characters beyond ASCII", "%r");
        if (precision_ >= 0) text.resize(byte_of_character(text, static_cast<size_t>(precision_)));
        pad(out, "", std::move(text), false);
        return;
      }
      case 'c': {
        std::string text;
        if (v.is(Kind::string)) {
          if (length_of(v) != 1) raise("another text", "one character for %c");
          text = v.as_string();
        } else {
          if (!v.is_integral())
            raise(std::string("a value of type ") + v.type_name(), "a character or an integer for %c");
          if (v.as_int() < 0 || v.as_int() > 0x10ffff)
            raise(std::to_string(v.as_int()), "a character of Unicode");
          if (v.as_int() >= 0xd800 && v.as_int() < 0xe000) unsupported("half of a surrogate pair");
          append_utf8(text, static_cast<char32_t>(v.as_int()));
        }
        pad(out, "", std::move(text), false);
        return;
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        integer(out, type, v);
        return;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        real(out, type, v);
        return;
      default:
        raise(std::string("'%") + type + "'", "a format that exists");
    }
  }

  std::string sign_of(bool negative_number) const {
    return negative_number ? "-" : plus_ ? "+" : space_ ? " " : "";
  }

  void integer(std::string& out, char type, const Value& v) {
    check_number(v);
    int64_t n = 0;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (v.is_integral())
      n = v.as_int();
    else if (decimal)
      n = integer_of(v.as_real());
    else
      raise("a float", std::string("an integer for %") + type);
    const uint64_t size = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
    char digits[32];
    const auto wide = static_cast<unsigned long long>(size);
    std::snprintf(digits, sizeof digits,
                  decimal       ? "%llu"
                  : type == 'x' ? "%llx"
                  : type == 'X' ? "%llX"
                                : "%llo",
                  wide);
    std::string body = digits, sign = sign_of(n < 0);
    if (precision_ > static_cast<int64_t>(body.size()))
      body.insert(0, static_cast<size_t>(precision_) - body.size(), '0');
    if (sharp_ && !decimal) sign += type == 'o' ? "0o" : type == 'x' ? "0x" : "0X";
    pad(out, std::move(sign), std::move(body), true);
  }

  void real(std::string& out, char type, const Value& v) {
    check_number(v);
    const double d = v.as_real();
    std::string body;
    if (!std::isfinite(d)) {
      body = std::isnan(d) ? "nan" : "inf";
      if (type < 'a') body = upper_text(body);
    } else {
      if (precision_ > 400) unsupported("more", "at most 400 digits of a float");
      char text[1024];
      const char format[] = {
          '%', sharp_ ? '#' : '.', sharp_ ? '.' : '*', sharp_ ? '*' : type, sharp_ ? type : '\0', '\0'};
      std::snprintf(text, sizeof text, format, precision_ < 0 ? 6 : static_cast<int>(precision_),
                    std::fabs(d));
      body = text;
    }
    pad(out, sign_of(std::signbit(d) && !std::isnan(d)), std::move(body), true);
  }

  void check_number(const Value& v) {
    check_defined(v);
    if (!v.is_number()) raise(std::string("a value of type ") + v.type_name(), "a number for the format");
  }

  const std::string& s_;
  const Value& values_;
  bool single_;
  size_t used_ = 0, at_ = 0;
  bool left_ = false, plus_ = false, space_ = false, sharp_ = false, zero_ = false;
  int64_t width_ = 0, precision_ = -1;
};

}  // namespace

std::string format_percent(const std::string& text, const Value& values) {
  return PercentFormatter(text, values).run();
}

}  // namespace lathe::jinja
