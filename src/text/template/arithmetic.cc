// Operators of numbers, strings and lists, as Python has them.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/template/characters.h"
#include "text/template/filters.h"

namespace lathe::jinja {

namespace {

[[noreturn]] void no_operator(std::string_view op, const Value& a, const Value& b) {
  raise(std::string(a.type_name()) + " " + std::string(op) + " " + b.type_name(),
        "operands that the operator takes");
}
[[noreturn]] void beyond_64_bits() { unsupported("a larger one", "integers of at most 64 bits"); }
[[noreturn]] void division_by_zero() { raise("a division by zero"); }

int64_t floor_division(int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (a == INT64_MIN && b == -1) beyond_64_bits();
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t integer_power(int64_t a, int64_t b) {
  if (a == 1 || b == 0) return 1;
  if (a == -1) return b % 2 ? -1 : 1;
  if (a == 0) return 0;
  if (b > 63) beyond_64_bits();
  int64_t r = 1;
  for (int64_t i = 0; i < b; ++i)
    if (__builtin_mul_overflow(r, a, &r)) beyond_64_bits();
  return r;
}

Value integers(std::string_view op, int64_t a, int64_t b) {
  int64_t r = 0;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &r)) beyond_64_bits();
  } else if (op == "-") {
    if (__builtin_sub_overflow(a, b, &r)) beyond_64_bits();
  } else if (op == "*") {
    if (__builtin_mul_overflow(a, b, &r)) beyond_64_bits();
  } else if (op == "//") {
    r = floor_division(a, b);
  } else if (op == "%") {
    r = floor_modulo(a, b);
  } else if (op == "/") {
    if (b == 0) division_by_zero();
    return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
  } else if (b < 0) {
    if (a == 0) division_by_zero();
    return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
  } else {
    r = integer_power(a, b);
  }
  return Value::integer(r);
}

double real_modulo(double a, double b) {
  double m = std::fmod(a, b);
  if (m != 0) {
    if ((b < 0) != (m < 0)) m += b;
  } else {
    m = std::copysign(0.0, b);
  }
  return m;
}

double real_floor_division(double a, double b) {
  const double m = std::fmod(a, b);
  double div = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1 : floored;
}

Value reals(std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") {
    if (a == 0 && b < 0) division_by_zero();
    if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) unsupported("a complex number");
    const double r = std::pow(a, b);
    if (std::isinf(r) && std::isfinite(a) && std::isfinite(b)) raise("a result out of range");
    return Value::real(r);
  }
  if (b == 0) division_by_zero();
  if (op == "/") return Value::real(a / b);
  if (op == "//") return Value::real(real_floor_division(a, b));
  return Value::real(real_modulo(a, b));
}

Value times(const Value& v, int64_t count) {
  if (v.is(Kind::string)) return Value::string(repeated(v.as_string(), count), v.is_markup());
  const auto& items = v.as_items();
  std::vector<Value> all;
  if (count > 0 && !items.empty()) {
    if (static_cast<uint64_t>(count) > max_live / items.size() / sizeof(Value))
      too_large("more", "values of at most " + std::to_string(max_live) + " bytes");
    Meter::expect(items.size() * static_cast<uint64_t>(count) * sizeof(Value));
    for (int64_t i = 0; i < count; ++i) all.insert(all.end(), items.begin(), items.end());
  }
  return v.is(Kind::list) ? Value::list(std::move(all)) : Value::tuple(std::move(all));
}

}  // namespace

std::string repeated(std::string_view text, int64_t count) {
  std::string all;
  if (count <= 0 || text.empty()) return all;
  if (static_cast<uint64_t>(count) > max_live / text.size())
    too_large("more", "values of at most " + std::to_string(max_live) + " bytes");
  Meter::expect(text.size() * static_cast<uint64_t>(count));
  all.reserve(text.size() * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all += text;
  return all;
}

Value concatenated(const Value& a, const Value& b) {
  if (a.is_markup() || b.is_markup()) {
    const auto escaped = [](const Value& v) {
      return v.is_markup() ? v.as_string() : escaped_html(v.as_string());
    };
    return Value::string(escaped(a) + escaped(b), true);
  }
  Meter::expect(a.as_string().size() + b.as_string().size());
  return Value::string(a.as_string() + b.as_string());
}

Value arithmetic(std::string_view op, const Value& a, const Value& b) {
  if (a.is(Kind::string) && op == "%") {
    if (a.is_markup()) unsupported("'%' of a safe string");
    return Value::string(format_percent(a.as_string(), b));
  }
  check_defined(a);
  check_defined(b);
  if (a.is_integral() && b.is_integral()) return integers(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return reals(op, a.as_real(), b.as_real());
  if (op == "+") {
    if (a.is(Kind::string) && b.is(Kind::string)) return concatenated(a, b);
    if (a.is_items() && a.kind() == b.kind()) {
      Meter::expect((a.as_items().size() + b.as_items().size()) * sizeof(Value));
      std::vector<Value> all = a.as_items();
      all.insert(all.end(), b.as_items().begin(), b.as_items().end());
      return a.is(Kind::list) ? Value::list(std::move(all)) : Value::tuple(std::move(all));
    }
  }
  if (op == "*") {
    if ((a.is(Kind::string) || a.is_items()) && b.is_integral()) return times(a, b.as_int());
    if ((b.is(Kind::string) || b.is_items()) && a.is_integral()) return times(b, a.as_int());
  }
  if (op == "-" && (a.is(Kind::view) || b.is(Kind::view)))
    unsupported("a difference of views of dicts", "lists");
  no_operator(op, a, b);
}

Value negative(const Value& v) {
  check_defined(v);
  if (v.is_integral()) return integers("-", 0, v.as_int());
  if (v.is(Kind::real)) return Value::real(-v.as_real());
  raise(std::string("a value of type ") + v.type_name(), "a number after '-'");
}

Value positive(const Value& v) {
  check_defined(v);
  if (v.is_integral()) return Value::integer(v.as_int());
  if (v.is(Kind::real)) return v;
  raise(std::string("a value of type ") + v.type_name(), "a number after '+'");
}

Value slice(const Value& v, const Value& start, const Value& stop, const Value& step) {
  check_defined(v);
  const auto part = [](const Value& p, int64_t& to) {
    if (!p.is(Kind::none)) to = integer_argument(p, "a part of a slice");
  };
  int64_t by = 1;
  const bool sliceable = v.is(Kind::string) || v.is_items() || v.is(Kind::range);
  if (!sliceable) raise(std::string("a slice of a value of type ") + v.type_name(), "a string or a list");
  const int64_t count = length_of(v);
  part(step, by);
  if (by == 0) raise("a step of 0", "another step of the slice");
  if (by == INT64_MIN) by = INT64_MIN + 1;
  int64_t from = by > 0 ? 0 : count - 1, to = by > 0 ? count : -1;
  const auto bound = [&](int64_t i) {
    if (i < 0) {
      i += count;
      if (i < 0) i = by < 0 ? -1 : 0;
    } else if (i >= count) {
      i = by < 0 ? count - 1 : count;
    }
    return i;
  };
  int64_t given = 0;
  part(start, given);
  if (!start.is(Kind::none)) from = bound(given);
  part(stop, given);
  if (!stop.is(Kind::none)) to = bound(given);
  if (v.is(Kind::range)) {
    const RangeObject& r = v.as_range();
    int64_t wide = 0;
    if (__builtin_mul_overflow(r.step, by, &wide)) beyond_64_bits();
    return Value::range(r.start + from * r.step, r.start + to * r.step, wide);
  }
  const auto each = [&](auto&& take) {
    if (by > 0)
      for (int64_t i = from; i<to; i = by> to - i ? to : i + by) take(static_cast<size_t>(i));
    else
      for (int64_t i = from; i > to; i = -by > i - to ? to : i + by) take(static_cast<size_t>(i));
  };
  if (v.is(Kind::string)) {
    const Text& t = v.as<Text>();
    Meter::expect(t.ascii ? t.s.size() : t.s.size() * 5);
    std::string out;
    if (t.ascii && by == 1) {
      if (from < to) out = t.s.substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
    } else if (t.ascii) {
      each([&](size_t i) { out += t.s[i]; });
    } else {
      const std::u32string all = decode(t.s);
      std::u32string some;
      each([&](size_t i) { some += all[i]; });
      out = encode(some);
    }
    return Value::string(std::move(out), v.is_markup());
  }
  Meter::expect(v.as_items().size() * sizeof(Value));
  std::vector<Value> out;
  each([&](size_t i) { out.push_back(v.as_items()[i]); });
  return v.is(Kind::list) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

double rounded(double v, int64_t digits) {
  if (!std::isfinite(v) || digits > 323) return v;
  if (digits < -308) return std::copysign(0.0, v);
  if (digits >= 0) {
    char text[700];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), v);
    return std::strtod(text, nullptr);
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(v / unit) * unit;
}

int64_t integer_of(double d) {
  if (std::isnan(d) || std::isinf(d)) raise(real_text(d), "a number that has an integer");
  if (d >= 9223372036854775808.0 || d < -9223372036854775808.0) beyond_64_bits();
  return static_cast<int64_t>(d);
}

namespace {

/// Drops single underscores between digits; false where there are others.
bool drop_underscores(std::string_view text, std::string& to) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      to += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !word(text[i - 1]) || !word(text[i + 1])) return false;
  }
  return true;
}

void check_digits(std::string_view text) {
  if (is_ascii(text)) return;
  for (char32_t c : decode(text))
    if (c > 0x7f && has_flag(c, char_decimal)) unsupported("digits beyond ASCII", "numbers in ASCII");
}

}  // namespace

bool read_integer(std::string_view text, int64_t base, int64_t& to) {
  if (base != 0 && (base < 2 || base > 36)) raise(std::to_string(base), "a base from 2 to 36, or 0");
  check_digits(text);
  text = strip_space(text);
  bool negative_sign = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative_sign = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto prefix = [&](char letter, int64_t of) {
    if (text.size() < 2 || text[0] != '0' || (text[1] | 0x20) != letter || (base != 0 && base != of))
      return false;
    base = of;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    return true;
  };
  if (!prefix('x', 16) && !prefix('o', 8) && !prefix('b', 2) && base == 0) {
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != text.npos) return false;
    base = 10;
  }
  std::string digits;
  if (text.empty() || !drop_underscores(text, digits)) return false;
  int64_t value = 0;
  bool large = false;
  for (char c : digits) {
    int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') digit = (c | 0x20) - 'a' + 10;
    if (digit >= base) return false;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_sub_overflow(value, digit, &value))
      large = true;
  }
  if (large || (!negative_sign && value == INT64_MIN)) beyond_64_bits();
  to = negative_sign ? value : -value;
  return true;
}

bool read_real(std::string_view text, double& to) {
  check_digits(text);
  std::string plain;
  if (!drop_underscores(strip_space(text), plain) || plain.empty()) return false;
  const std::string lower = lower_text(plain);
  size_t i = lower[0] == '-' || lower[0] == '+';
  const std::string_view rest = std::string_view(lower).substr(i);
  if (rest != "inf" && rest != "infinity" && rest != "nan") {
    size_t digits = 0;
    const auto skip = [&] {
      for (; i < lower.size() && lower[i] >= '0' && lower[i] <= '9'; ++i) ++digits;
    };
    skip();
    if (i < lower.size() && lower[i] == '.') ++i, skip();
    if (digits == 0) return false;
    if (i < lower.size() && lower[i] == 'e') {
      ++i;
      if (i < lower.size() && (lower[i] == '-' || lower[i] == '+')) ++i;
      digits = 0;
      skip();
      if (digits == 0) return false;
    }
    if (i != lower.size()) return false;
  }
  to = std::strtod(lower.c_str(), nullptr);
  return true;
}

}  // namespace lathe::jinja
