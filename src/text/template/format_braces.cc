// text.format(…), as Python has it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/letters.h"
#include "text/template/characters.h"
#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {

constexpr int64_t widest_brace_field = 1'000'000;

struct FieldSpec {
  std::string fill = " ";
  char align = '\0', sign = '-', grouping = '\0', type = '\0';
  bool alternate = false;
  int64_t width = 0, precision = -1;
};

int64_t spec_number(std::string_view s, size_t& at, int64_t absent) {
  if (at >= s.size() || s[at] < '0' || s[at] > '9') return absent;
  int64_t n = 0;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) {
    n = n * 10 + (s[at] - '0');
    if (n > widest_brace_field)
      too_large("more", "fields of at most " + std::to_string(widest_brace_field) + " characters");
  }
  return n;
}

FieldSpec parse_spec(std::string_view s) {
  FieldSpec f;
  size_t at = 0;
  const auto is_align = [&](size_t i) { return i < s.size() && std::strchr("<>=^", s[i]); };
  const size_t first = byte_of_character(s, 1);
  if (!s.empty() && is_align(first)) {
    f.fill = std::string(s.substr(0, first));
    f.align = s[first];
    at = first + 1;
  } else if (is_align(0)) {
    f.align = s[0];
    at = 1;
  }
  if (at < s.size() && std::strchr("+- ", s[at])) f.sign = s[at++];
  if (at < s.size() && s[at] == 'z') unsupported("'z' in a format");
  if (at < s.size() && s[at] == '#') f.alternate = true, ++at;
  if (at < s.size() && s[at] == '0') {
    if (!f.align) f.align = '=', f.fill = "0";
    ++at;
  }
  f.width = spec_number(s, at, 0);
  if (at < s.size() && (s[at] == ',' || s[at] == '_')) f.grouping = s[at++];
  if (at < s.size() && s[at] == '.') {
    ++at;
    f.precision = spec_number(s, at, -1);
    if (f.precision < 0) raise("a format without digits after '.'", "a precision");
  }
  if (at < s.size()) f.type = s[at++];
  if (at != s.size()) raise("'" + std::string(s.substr(0, 60)) + "'", "a format specification");
  return f;
}

std::string grouped(const std::string& digits, char separator, size_t size) {
  if (!separator) return digits;
  std::string to;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % size == 0) to += separator;
    to += digits[i];
  }
  return to;
}

std::string placed(const FieldSpec& f, const std::string& sign, const std::string& body, char standard) {
  const char align = f.align ? f.align : standard;
  const int64_t length = static_cast<int64_t>(character_count(sign) + character_count(body));
  if (align != '=') return aligned(sign + body, f.width, align, f.fill);
  return sign + repeated(f.fill, std::max<int64_t>(f.width - length, 0)) + body;
}

std::string number_placed(const FieldSpec& f, const std::string& sign, std::string whole,
                          const std::string& rest, size_t group) {
  if (f.grouping && f.align == '=' && f.fill == "0") {
    // The zeros that fill are grouped, too.
    const auto needed = [&] { return sign.size() + grouped(whole, f.grouping, group).size() + rest.size(); };
    Meter::expect(static_cast<uint64_t>(f.width));
    while (static_cast<int64_t>(needed()) < f.width) {
      if (whole.size() > 2000) too_large("more", "grouped fields of at most 2000 digits");
      whole.insert(whole.begin(), '0');
    }
    return sign + grouped(whole, f.grouping, group) + rest;
  }
  return placed(f, sign, grouped(whole, f.grouping, group) + rest, '>');
}

std::string format_real(double d, FieldSpec f, bool is_real) {
  if (f.type == 'n') unsupported("'n' in a format");
  if (f.precision > 400) unsupported("more", "at most 400 digits of a float");
  const std::string sign = std::signbit(d) && !std::isnan(d) ? "-"
                           : f.sign == '+'                   ? "+"
                           : f.sign == ' '                   ? " "
                                                             : "";
  const bool percent = f.type == '%';
  const double size = std::fabs(d) * (percent ? 100 : 1);
  std::string body;
  if (!std::isfinite(size)) {
    body = std::isnan(size) ? "nan" : "inf";
    if (f.type == 'E' || f.type == 'F' || f.type == 'G') body = upper_text(body);
  } else if (!f.type && f.precision < 0) {
    body = is_real ? real_text(size) : real_text(size);
    if (f.alternate) unsupported("'#' in a format without type");
  } else {
    char type = percent ? 'f' : f.type ? f.type : 'g';
    char text[1024];
    const char format[] = {'%',
                           f.alternate ? '#' : '.',
                           f.alternate ? '.' : '*',
                           f.alternate ? '*' : type,
                           f.alternate ? type : '\0',
                           '\0'};
    int precision = f.precision < 0 ? 6 : static_cast<int>(f.precision);
    if (!f.type) {
      // As repr, but with so many digits at most: exponents begin one digit earlier than for 'g'.
      if (precision == 0) precision = 1;
      std::snprintf(text, sizeof text, "%.*e", precision - 1, size);
      const int exponent = std::atoi(std::strchr(text, 'e') + 1);
      std::snprintf(text, sizeof text, "%.*g", precision, size);
      body = text;
      if (exponent == precision - 1 && size != 0) {
        std::snprintf(text, sizeof text, "%.*e", precision - 1, size);
        body = text;
        // Zeros at the end of the digits go.
        const size_t e = body.find('e');
        std::string digits = body.substr(0, e);
        if (digits.find('.') != digits.npos) {
          digits.erase(digits.find_last_not_of('0') + 1);
          if (digits.back() == '.') digits.pop_back();
        }
        body = digits + body.substr(e);
      } else if (body.find_first_of(".e") == body.npos) {
        body += ".0";
      }
    } else {
      std::snprintf(text, sizeof text, format, precision, size);
      body = text;
    }
  }
  const size_t end = std::min(body.find_first_not_of("0123456789"), body.size());
  return number_placed(f, sign, body.substr(0, end), body.substr(end) + (percent ? "%" : ""), 3);
}

std::string format_integer(int64_t n, const FieldSpec& f) {
  if (f.type && std::strchr("eEfFgG%", f.type)) return format_real(static_cast<double>(n), f, false);
  if (f.type == 'n') unsupported("'n' in a format");
  if (f.precision >= 0) raise("a precision", "none for an integer");
  if (f.type == 'c') {
    if (n < 0 || n > 0x10ffff || (n >= 0xd800 && n < 0xe000))
      raise(std::to_string(n), "a character of Unicode");
    std::string c;
    append_utf8(c, static_cast<char32_t>(n));
    if (f.sign != '-' || f.grouping) unsupported("a sign or groups of a character");
    return placed(f, "", c, '<');
  }
  uint64_t size = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  std::string sign = n < 0 ? "-" : f.sign == '+' ? "+" : f.sign == ' ' ? " " : "";
  unsigned base = 10;
  switch (f.type) {
    case '\0':
    case 'd':
      break;
    case 'b':
      base = 2;
      break;
    case 'o':
      base = 8;
      break;
    case 'x':
    case 'X':
      base = 16;
      break;
    default:
      raise(std::string("'") + f.type + "'", "a format that integers have");
  }
  if (f.grouping == ',' && base != 10) raise("','", "'_' for this base");
  if (f.alternate && base != 10) sign += std::string("0") + f.type;
  std::string digits;
  const char* const numerals = f.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  do digits.insert(digits.begin(), numerals[size % base]);
  while (size /= base);
  return number_placed(f, sign, std::move(digits), "", base == 10 ? 3 : 4);
}

std::string format_value(const Value& v, std::string_view spec) {
  if (v.is(Kind::boolean) && spec.empty()) return to_text(v);
  if (v.is_integral()) return format_integer(v.as_int(), parse_spec(spec));
  if (v.is(Kind::real)) {
    if (spec.empty()) return to_text(v);
    const FieldSpec f = parse_spec(spec);
    if (f.type && !std::strchr("eEfFgG%n", f.type))
      raise(std::string("'") + f.type + "'", "a format that floats have");
    return format_real(v.as_real(), f, true);
  }
  if (v.is(Kind::string)) {
    if (v.is_markup()) unsupported("a safe string in format()");
    const FieldSpec f = parse_spec(spec);
    if (f.type && f.type != 's') raise(std::string("'") + f.type + "'", "'s' for a string");
    if (f.sign != '-' || f.alternate || f.grouping || (f.align == '=' && f.fill != "0"))
      raise("'" + std::string(spec.substr(0, 60)) + "'", "a format that strings have");
    std::string text = v.as_string();
    if (f.precision >= 0) text.resize(byte_of_character(text, static_cast<size_t>(f.precision)));
    return aligned(text, f.width, f.align && f.align != '=' ? f.align : '<', f.fill);
  }
  if (!spec.empty()) raise("'" + std::string(spec.substr(0, 60)) + "'", "no format for a value of this type");
  return to_text(v);
}

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& in, const Args& args) : in_(in), args_(args) {}

  std::string run(std::string_view s, int depth = 0) {
    if (depth > 1) raise("more", "fields within fields at most once");
    std::string out;
    for (size_t i = 0; i < s.size();) {
      const char c = s[i];
      if (c != '{' && c != '}') {
        out += c;
        ++i;
        continue;
      }
      if (i + 1 < s.size() && s[i + 1] == c) {
        out += c;
        i += 2;
        continue;
      }
      if (c == '}') raise("a single '}'", "'}}', or '{' before it");
      int open = 1;
      size_t end = ++i;
      for (; end < s.size() && open > 0; ++end) {
        if (s[end] == '[' && open == 1) {
          // Brackets may hold braces.
          const size_t close = s.find(']', end);
          if (close != s.npos && s.find_first_of(":!", i) > end) end = close;
          continue;
        }
        open += s[end] == '{' ? 1 : s[end] == '}' ? -1 : 0;
      }
      if (open > 0) raise("a field without end", "'}' in the format");
      out += field(s.substr(i, end - 1 - i), depth);
      if (out.size() > max_output)
        too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
      i = end;
    }
    return out;
  }

 private:
  std::string field(std::string_view f, int depth) {
    Meter::step();
    size_t end = 0;
    while (end < f.size() && f[end] != '!' && f[end] != ':') {
      if (f[end] == '[') {
        end = f.find(']', end);
        if (end == f.npos) raise("'[' without ']'", "a name of a field");
      }
      ++end;
    }
    const std::string_view name = f.substr(0, end);
    char conversion = '\0';
    if (end < f.size() && f[end] == '!') {
      if (end + 1 >= f.size() || (end + 2 < f.size() && f[end + 2] != ':'))
        raise("another conversion", "!r, !s or !a");
      conversion = f[end + 1];
      end += 2;
    }
    const std::string spec = end < f.size() ? run(f.substr(end + 1), depth + 1) : std::string();
    Value v = value_of(name);
    switch (conversion) {
      case '\0':
        break;
      case 's':
        v = Value::string(to_text(v));
        break;
      case 'r':
        v = Value::string(to_repr(v));
        break;
      case 'a':
        v = Value::string(to_repr(v));
        if (!is_ascii(v.as_string())) unsupported("!a of characters beyond ASCII", "!r");
        break;
      default:
        raise(std::string("'!") + conversion + "'", "!r, !s or !a");
    }
    return format_value(v, spec);
  }

  Value value_of(std::string_view name) {
    if (name.find_first_of("{}") != name.npos) raise("braces", "a name of a field");
    size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string first(name.substr(0, end));
    Value v = argument(first);
    while (end < name.size()) {
      if (name[end] == '.') {
        const size_t stop = std::min(name.find_first_of(".[", end + 1), name.size());
        if (stop == end + 1) raise("an empty name", "an attribute after '.'");
        v = in_.attribute(v, std::string(name.substr(end + 1, stop - end - 1)));
        end = stop;
      } else {
        const size_t stop = name.find(']', end);
        if (stop == name.npos || stop == end + 1) raise("an empty name", "an item within '[]'");
        const std::string key(name.substr(end + 1, stop - end - 1));
        const bool number = key.find_first_not_of("0123456789") == key.npos;
        int64_t index = 0;
        if (number) read_integer(key, 10, index);
        v = in_.subscript(v, number ? Value::integer(index) : Value::string(key));
        end = stop + 1;
        if (end < name.size() && name[end] != '.' && name[end] != '[')
          raise("other characters", "'.' or '[' after ']'");
      }
    }
    return v;
  }

  Value argument(const std::string& name) {
    const bool number = name.find_first_not_of("0123456789") == name.npos;
    if (!number) {
      for (const auto& [n, v] : args_.named)
        if (n == name) return v;
      raise("'" + name + "'", "an argument of format()");
    }
    int64_t index = 0;
    if (name.empty()) {
      if (mode_ == 'm') raise("'{}'", "a number, since other fields have one");
      mode_ = 'a';
      index = automatic_++;
    } else {
      if (mode_ == 'a') raise("'{" + name + "}'", "'{}', since other fields have no number");
      mode_ = 'm';
      read_integer(name, 10, index);
    }
    if (index >= static_cast<int64_t>(args_.positional.size()))
      raise("fewer", "an argument for each field of format()");
    return args_.positional[static_cast<size_t>(index)];
  }

  Interpreter& in_;
  const Args& args_;
  int64_t automatic_ = 0;
  char mode_ = '\0';  // fields are numbered automatically, or by hand
};

}  // namespace

std::string format_braces(Interpreter& in, const std::string& text, const Args& args) {
  return BraceFormatter(in, args).run(text);
}

}  // namespace lathe::jinja
