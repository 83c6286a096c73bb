// Equality, order, membership and keys of values.
#include <cmath>
#include <cstring>

#include "text/template/characters.h"
#include "text/template/value.h"

namespace lathe::jinja {

namespace {

/// Compares numbers exactly: -1, 0, 1, or 2 where one is no number.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
  if (a.is(Kind::real) && b.is(Kind::real)) {
    if (std::isnan(a.as_real()) || std::isnan(b.as_real())) return 2;
    return a.as_real() < b.as_real() ? -1 : a.as_real() > b.as_real();
  }
  if (b.is_integral()) {
    const int other = compare_numbers(b, a);
    return other == 2 ? 2 : -other;
  }
  const int64_t i = a.as_int();
  const double d = b.as_real();
  if (std::isnan(d)) return 2;
  if (d >= 9223372036854775808.0) return -1;
  if (d < -9223372036854775808.0) return 1;
  const auto whole = static_cast<int64_t>(d);  // toward zero
  if (i != whole) return i < whole ? -1 : 1;
  const double rest = d - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0;
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
  if (a.size() != b.size()) return false;
  return a.size() == 0 || (a.start == b.start && (a.size() == 1 || a.step == b.step));
}

}  // namespace

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  Meter::step((text.size() - from) / 64);
  if (part.empty()) return from;
  const void* at = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at ? static_cast<size_t>(static_cast<const char*>(at) - text.data()) : std::string_view::npos;
}

bool equal(const Value& a, const Value& b) {
  Meter::step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      Meter::step(std::min(a.as_string().size(), b.as_string().size()) / 64);
      return a.as_string() == b.as_string();
    case Kind::list:
    case Kind::tuple: {
      const auto &x = a.as_items(), &y = b.as_items();
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i)
        if (!equal(x[i], y[i])) return false;
      return true;
    }
    case Kind::dict: {
      const Dict &x = a.as_dict(), &y = b.as_dict();
      if (x.entries.size() != y.entries.size()) return false;
      for (const auto& [key, value] : x.entries) {
        const Value* other = y.find(key);
        if (!other || !equal(value, *other)) return false;
      }
      return true;
    }
    case Kind::range:
      return equal_ranges(a.as_range(), b.as_range());
    case Kind::view:
      unsupported("views of dicts that are compared", "lists");
    case Kind::method:
      unsupported("methods that are compared");
    default:
      return a.identity() == b.identity();
  }
}

bool ordered(const Value& a, const Value& b, const char* op) {
  Meter::step();
  check_defined(a);
  check_defined(b);
  int c = 0;
  if (a.is_number() && b.is_number()) {
    c = compare_numbers(a, b);
    if (c == 2) return false;
  } else if (a.is(Kind::string) && b.is(Kind::string)) {
    Meter::step(std::min(a.as_string().size(), b.as_string().size()) / 64);
    const int order = a.as_string().compare(b.as_string());  // UTF-8 has the order of code points
    c = order < 0 ? -1 : order > 0;
  } else if (a.is_items() && a.kind() == b.kind()) {
    const auto &x = a.as_items(), &y = b.as_items();
    size_t i = 0;
    while (i < x.size() && i < y.size() && equal(x[i], y[i])) ++i;
    if (i < x.size() && i < y.size()) return ordered(x[i], y[i], op);
    c = x.size() < y.size() ? -1 : x.size() > y.size();
  } else if (a.is(Kind::view) && b.is(Kind::view)) {
    unsupported("views of dicts that are compared", "lists");
  } else {
    raise(std::string(a.type_name()) + " " + op + " " + b.type_name(), "values that have an order");
  }
  if (op[0] == '<') return op[1] ? c <= 0 : c < 0;
  return op[1] ? c >= 0 : c > 0;
}

bool less(const Value& a, const Value& b) { return ordered(a, b, "<"); }

bool contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::undefined:
      return false;
    case Kind::string:
      if (!item.is(Kind::string))
        raise(std::string("a value of type ") + item.type_name(), "a string on the left of 'in'");
      Meter::step(container.as_string().size() / 16);
      return find_text(container.as_string(), item.as_string()) != std::string::npos;
    case Kind::list:
    case Kind::tuple:
      for (const Value& v : container.as_items())
        if (equal(v, item) || (v.identity() && v.identity() == item.identity())) return true;
      return false;
    case Kind::dict:
      return container.as_dict().find(item) != nullptr;
    case Kind::view:
      if (!std::strcmp(container.type_name(), "dict_keys")) key_text(item);
      for (const Value& v : container.as_items())
        if (equal(v, item)) return true;
      return false;
    case Kind::range: {
      for (const Value& v : items_of(container))
        if (equal(v, item)) return true;
      return false;
    }
    case Kind::iterator: {
      auto& items = container.as<Items>();
      while (items.next < items.v.size())
        if (equal(items.v[items.next++], item)) return true;
      return false;
    }
    default:
      raise(std::string("a value of type ") + container.type_name(), "a container on the right of 'in'");
  }
}

std::string key_text(const Value& v) {
  Meter::step(2);
  switch (v.kind()) {
    case Kind::undefined:
      return "u";
    case Kind::none:
      return "n";
    case Kind::boolean:
    case Kind::integer:
      return "i" + std::to_string(v.as_int());
    case Kind::real: {
      const double d = v.as_real();
      if (d >= -9223372036854775808.0 && d < 9223372036854775808.0 && d == std::floor(d))
        return "i" + std::to_string(static_cast<int64_t>(d));
      if (std::isnan(d)) unsupported("nan as a key");
      return "d" + real_text(d);
    }
    case Kind::string:
      return "s" + v.as_string();
    case Kind::tuple: {
      std::string all = "t";
      for (const Value& item : v.as_items()) {
        const std::string one = key_text(item);
        Meter::expect(all.size() + one.size());
        all += std::to_string(one.size()) + ":" + one;
      }
      return all;
    }
    case Kind::list:
    case Kind::dict:
    case Kind::view:
      raise(std::string("a value of type ") + v.type_name(), "a key that can be hashed");
    case Kind::range:
      unsupported("a range as a key");
    default: {
      char address[24];
      std::snprintf(address, sizeof address, "o%p", static_cast<const void*>(v.identity()));
      return address;
    }
  }
}

}  // namespace lathe::jinja
