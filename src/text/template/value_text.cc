// Texts of values: str(), repr() and JSON, as Python writes them; and JSON that is read.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/letters.h"
#include "base/utf8.h"
#include "text/template/characters.h"
#include "text/template/value.h"

namespace lathe::jinja {

std::string real_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, d, std::chars_format::scientific).ptr;
  std::string s(text, end);
  std::string sign;
  if (s[0] == '-') sign = "-", s.erase(0, 1);
  const size_t e = s.find('e');
  const int exponent = std::atoi(s.c_str() + e + 1);
  std::string digits = s.substr(0, 1);
  if (e > 2) digits += s.substr(2, e - 2);
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string out = sign + digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    char tail[16];
    std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + tail;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  const auto whole = static_cast<size_t>(exponent + 1);
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string quoted(std::string_view s) {
  const bool use_double = s.find('\'') != s.npos && s.find('"') == s.npos;
  const char quote = use_double ? '"' : '\'';
  std::string to(1, quote);
  for (size_t i = 0; i < s.size();) {
    char32_t c = 0;
    const size_t n = std::max<size_t>(decode_utf8(s, i, c), 1);
    char escaped[16];
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      to += '\\';
      to += static_cast<char>(c);
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '\r') {
      to += "\\r";
    } else if (c == '\t') {
      to += "\\t";
    } else if (c >= ' ' && c < 0x7f) {
      to += static_cast<char>(c);
    } else if (c > 0x7f && has_flag(c, char_printable)) {
      to.append(s.substr(i, n));
    } else {
      const auto code = static_cast<unsigned>(c);
      std::snprintf(escaped, sizeof escaped,
                    code < 0x100     ? "\\x%02x"
                    : code < 0x10000 ? "\\u%04x"
                                     : "\\U%08x",
                    code);
      to += escaped;
    }
    i += n;
  }
  return to + quote;
}

namespace {

void append_repr(std::string& to, const Value& v, int depth) {
  Meter::step();
  Meter::expect(to.size() / 4096);
  if (to.size() > max_output) too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
  if (depth > max_value_nesting)
    too_large("more",
              "lists and dicts that are nested at most " + std::to_string(max_value_nesting) + " times");
  const auto list = [&](const std::vector<Value>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) to += ", ";
      append_repr(to, items[i], depth + 1);
    }
  };
  const auto dict = [&](const Dict& d) {
    to += '{';
    for (size_t i = 0; i < d.entries.size(); ++i) {
      if (i) to += ", ";
      append_repr(to, d.entries[i].first, depth + 1);
      to += ": ";
      append_repr(to, d.entries[i].second, depth + 1);
    }
    to += '}';
  };
  switch (v.kind()) {
    case Kind::undefined:
      to += "Undefined";
      return;
    case Kind::string:
      Meter::expect(v.as_string().size());
      if (v.is_markup()) to += "Markup(";
      to += quoted(v.as_string());
      if (v.is_markup()) to += ")";
      return;
    case Kind::list:
      to += '[';
      list(v.as_items());
      to += ']';
      return;
    case Kind::tuple:
      to += '(';
      list(v.as_items());
      to += v.as_items().size() == 1 ? ",)" : ")";
      return;
    case Kind::dict:
      dict(v.as_dict());
      return;
    case Kind::view:
      to += v.as<Items>().name;
      to += "([";
      list(v.as_items());
      to += "])";
      return;
    case Kind::range: {
      const RangeObject& r = v.as_range();
      to += "range(" + std::to_string(r.start) + ", " + std::to_string(r.stop);
      if (r.step != 1) to += ", " + std::to_string(r.step);
      to += ")";
      return;
    }
    case Kind::space:
      to += "<Namespace ";
      dict(*v.as<Space>().members);
      to += ">";
      return;
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      append_text(to, v);
      return;
    default:
      unsupported(std::string("the text of a value of type ") + v.type_name(),
                  "a list, made by the filter 'list', or another value that has a text");
  }
}

void append_json_string(std::string& to, std::string_view s, bool ascii) {
  Meter::expect(s.size());
  to += '"';
  for (size_t i = 0; i < s.size();) {
    char32_t c = 0;
    const size_t n = std::max<size_t>(decode_utf8(s, i, c), 1);
    char escaped[24];
    switch (c) {
      case '"':
        to += "\\\"";
        break;
      case '\\':
        to += "\\\\";
        break;
      case '\n':
        to += "\\n";
        break;
      case '\r':
        to += "\\r";
        break;
      case '\t':
        to += "\\t";
        break;
      case '\f':
        to += "\\f";
        break;
      case '\b':
        to += "\\b";
        break;
      default: {
        const auto code = static_cast<unsigned>(c);
        if (code < 0x20 || (ascii && code >= 0x7f && code < 0x10000 && code != 0x7f)) {
          std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
          to += escaped;
        } else if (ascii && code >= 0x10000) {
          const unsigned rest = code - 0x10000;
          std::snprintf(escaped, sizeof escaped, "\\u%04x\\u%04x", 0xd800 + (rest >> 10),
                        0xdc00 + (rest & 0x3ff));
          to += escaped;
        } else {
          to.append(s.substr(i, n));
        }
      }
    }
    i += n;
  }
  to += '"';
}

std::string json_number(const Value& v) {
  if (!v.is(Kind::real)) return to_text(v);
  const double d = v.as_real();
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
  return real_text(d);
}

std::string json_key(const Value& key) {
  switch (key.kind()) {
    case Kind::string:
      return key.as_string();
    case Kind::none:
      return "null";
    case Kind::boolean:
      return key.as_bool() ? "true" : "false";
    case Kind::integer:
    case Kind::real:
      return json_number(key);
    default:
      raise(std::string("a key of type ") + key.type_name(),
            "keys of JSON: strings, numbers, booleans, none");
  }
}

void append_json(std::string& to, const Value& v, const JsonStyle& style, int depth) {
  Meter::step();
  if (to.size() > max_output) too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
  const auto line = [&](int levels) {
    if (!style.lines) return;
    to += '\n';
    Meter::expect(style.indent.size() * static_cast<size_t>(levels));
    for (int i = 0; i < levels; ++i) to += style.indent;
  };
  switch (v.kind()) {
    case Kind::none:
      to += "null";
      return;
    case Kind::boolean:
      to += v.as_bool() ? "true" : "false";
      return;
    case Kind::integer:
    case Kind::real:
      to += json_number(v);
      return;
    case Kind::string:
      append_json_string(to, v.as_string(), style.ascii);
      return;
    case Kind::list:
    case Kind::tuple: {
      const auto& items = v.as_items();
      to += '[';
      for (size_t i = 0; i < items.size(); ++i) {
        if (i) to += style.item_separator;
        line(depth + 1);
        append_json(to, items[i], style, depth + 1);
      }
      if (!items.empty()) line(depth);
      to += ']';
      return;
    }
    case Kind::dict: {
      std::vector<const std::pair<Value, Value>*> entries;
      for (const auto& e : v.as_dict().entries) entries.push_back(&e);
      if (style.sort_keys) {
        Meter::step(entries.size() * 16);
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto* a, const auto* b) { return less(a->first, b->first); });
      }
      to += '{';
      for (size_t i = 0; i < entries.size(); ++i) {
        if (i) to += style.item_separator;
        line(depth + 1);
        append_json_string(to, json_key(entries[i]->first), style.ascii);
        to += style.key_separator;
        append_json(to, entries[i]->second, style, depth + 1);
      }
      if (!entries.empty()) line(depth);
      to += '}';
      return;
    }
    default:
      raise(std::string("a value of type ") + v.type_name(), "a value that JSON has");
  }
}

}  // namespace

void append_text(std::string& to, const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return;
    case Kind::none:
      to += "None";
      return;
    case Kind::boolean:
      to += v.as_bool() ? "True" : "False";
      return;
    case Kind::integer:
      to += std::to_string(v.as_int());
      return;
    case Kind::real:
      to += real_text(v.as_real());
      return;
    case Kind::string:
      to += v.as_string();
      return;
    default:
      append_repr(to, v, 0);
  }
}

std::string to_text(const Value& v) {
  std::string to;
  append_text(to, v);
  return to;
}

std::string to_repr(const Value& v) {
  std::string to;
  append_repr(to, v, 0);
  return to;
}

std::string json_text(const Value& v, const JsonStyle& style) {
  std::string to;
  append_json(to, v, style, 0);
  return to;
}

namespace {

/// Makes values of the events of a text.
class ValueBuilder : public JsonListener {
 public:
  explicit ValueBuilder(const std::string& name) : name_(name) {}
  void null() override { add(Value::none()); }
  void boolean(bool v) override { add(Value::boolean(v)); }
  void number_integer(int64_t v) override { add(Value::integer(v)); }
  void number_unsigned(uint64_t v) override {
    if (v > static_cast<uint64_t>(INT64_MAX)) refuse_number(std::to_string(v));
    add(Value::integer(static_cast<int64_t>(v)));
  }
  void number_float(double v, const std::string& text) override {
    if (text.find_first_of(".eE") == text.npos) refuse_number(text.substr(0, 60));
    add(Value::real(v));
  }
  void string(const std::string& v) override {
    if (!is_utf8(v)) throw Fault{Code::wire_bad_utf8, "text in UTF-8", "other bytes in " + name_, {}};
    add(Value::string(v));
  }
  void start_object() override { open(true); }
  void key(const std::string& name) override { open_.back().key = Value::string(name); }
  void end_object() override { close(); }
  void start_array() override { open(false); }
  void end_array() override { close(); }
  Value result() const { return result_; }

 private:
  struct Open {
    bool is_dict;
    std::vector<Value> items;
    std::shared_ptr<Dict> dict;
    Value key;
  };
  [[noreturn]] void refuse_number(const std::string& text) {
    unsupported(text + " in " + name_, "integers of at most 64 bits");
  }
  void open(bool is_dict) {
    if (open_.size() >= static_cast<size_t>(max_value_nesting) - 1)
      too_large("more in " + name_,
                "lists and dicts that are nested at most " + std::to_string(max_value_nesting) + " times");
    open_.push_back({is_dict, {}, is_dict ? std::make_shared<Dict>() : nullptr, {}});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(done.is_dict ? Value::dict(std::move(done.dict)) : Value::list(std::move(done.items)));
  }
  void add(Value v) {
    if (open_.empty())
      result_ = std::move(v);
    else if (open_.back().is_dict)
      open_.back().dict->put(std::move(open_.back().key), std::move(v));
    else
      open_.back().items.push_back(std::move(v));
  }
  const std::string& name_;
  std::vector<Open> open_;
  Value result_;
};

}  // namespace

Value parse_json_value(std::string_view text, const std::string& name) {
  ValueBuilder builder(name);
  try {
    lathe::parse_json(text, builder);
  } catch (const JsonFault& f) {
    throw Fault{Code::json_malformed, "JSON for " + name, f.what(), {}};
  }
  return builder.result();
}

}  // namespace lathe::jinja
