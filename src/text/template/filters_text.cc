// Filters of texts and numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/letters.h"
#include "text/template/characters.h"
#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {

/// The value as a string, which keeps a mark as safe.
Value as_text(const Value& v) { return v.is(Kind::string) ? v : Value::string(to_text(v)); }

template <std::string (*convert)(std::string_view)>
Value text_filter(Interpreter&, const Value& v, const Args& args) {
  bind(args, "the filter", {});
  const Value text = as_text(v);
  Meter::expect(text.as_string().size() * 5);
  return Value::string(convert(text.as_string()), text.is_markup());
}

Value filter_title(Interpreter&, const Value& v, const Args& args) {
  bind(args, "title", {});
  // Words begin at the start and after these characters.
  const std::u32string all = decode(to_text(v));
  std::string out;
  std::u32string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    out += upper_text(encode(word.substr(0, 1)));
    out += lower_text(encode(word.substr(1)));
    word.clear();
  };
  for (char32_t c : all) {
    const bool between =
        (c < 0x80 && c && std::strchr("-({[<", static_cast<int>(c))) || has_flag(c, char_space);
    if (!between) {
      word += c;
      continue;
    }
    end_word();
    append_utf8(out, c);
  }
  end_word();
  return Value::string(std::move(out));
}

Value filter_trim(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "trim", {"chars"});
  const Value text = as_text(v);
  if (!given[0] || given[0]->is(Kind::none))
    return Value::string(std::string(strip_space(text.as_string())), text.is_markup());
  if (text.is_markup()) unsupported("trim of a safe string with an argument");
  return Value::string(
      std::string(strip_characters(text.as_string(), string_argument(*given[0], "characters to trim"))));
}

Value filter_replace(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "replace", {"old", "new", "count"}, 2);
  const int64_t count = given[2] && !given[2]->is(Kind::none) ? integer_argument(*given[2], "a count") : -1;
  return Value::string(replaced(to_text(v), to_text(*given[0]), to_text(*given[1]), count));
}

Value filter_string(Interpreter&, const Value& v, const Args& args) {
  bind(args, "string", {});
  return as_text(v);
}

Value filter_escape(Interpreter&, const Value& v, const Args& args) {
  bind(args, "escape", {});
  return v.is_markup() ? v : Value::string(escaped_html(to_text(v)), true);
}

Value filter_forceescape(Interpreter&, const Value& v, const Args& args) {
  bind(args, "forceescape", {});
  return Value::string(escaped_html(to_text(v)), true);
}

Value filter_safe(Interpreter&, const Value& v, const Args& args) {
  bind(args, "safe", {});
  return v.is_markup() ? v : Value::string(to_text(v), true);
}

Value filter_indent(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "indent", {"width", "first", "blank"});
  const std::string by = !given[0]                    ? "    "
                         : given[0]->is(Kind::string) ? given[0]->as_string()
                                                      : repeated(" ", integer_argument(*given[0], "a width"));
  const bool first = given[1] && given[1]->truth(), blank = given[2] && given[2]->truth();
  if (v.is_markup()) unsupported("indent of a safe string");
  const std::string text = string_argument(v, "a string to indent") + "\n";
  std::string out = first ? by : "";
  bool begin = true;
  for (std::string_view line : split_lines(text)) {
    Meter::step(1 + by.size() / 64);
    if (!begin) out += '\n';
    if (!begin && (blank || !line.empty())) out += by;
    begin = false;
    out += line;
    if (out.size() > max_output)
      too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
  }
  return Value::string(std::move(out));
}

Value filter_truncate(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "truncate", {"length", "killwords", "end", "leeway"});
  const int64_t length = given[0] ? integer_argument(*given[0], "a length") : 255;
  const bool kill = given[1] && given[1]->truth();
  const std::string end = given[2] ? string_argument(*given[2], "an end") : "...";
  const int64_t leeway = given[3] && !given[3]->is(Kind::none) ? integer_argument(*given[3], "a leeway") : 5;
  const auto end_length = static_cast<int64_t>(character_count(end));
  if (length < end_length)
    raise(std::to_string(length), "a length of at least " + std::to_string(end_length));
  if (leeway < 0) raise(std::to_string(leeway), "a leeway of at least 0");
  if (length_of(v) - leeway <= length) return v;
  const std::string& text = string_argument(v, "a string to truncate");
  std::string kept = text.substr(0, byte_of_character(text, static_cast<size_t>(length - end_length)));
  if (!kill)
    if (const size_t space = kept.rfind(' '); space != kept.npos) kept.resize(space);
  return Value::string(kept + end);
}

Value filter_wordcount(Interpreter&, const Value& v, const Args& args) {
  bind(args, "wordcount", {});
  int64_t count = 0;
  bool in_word = false;
  for (char32_t c : decode(to_text(v))) {
    const bool word = c == '_' || has_flag(c, char_alpha | char_decimal | char_digit | char_numeric);
    count += word && !in_word;
    in_word = word;
  }
  return Value::integer(count);
}

Value filter_center(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "center", {"width"});
  return Value::string(aligned(to_text(v), given[0] ? integer_argument(*given[0], "a width") : 80, 'c'));
}

Value filter_format(Interpreter&, const Value& v, const Args& args) {
  if (v.is_markup()) unsupported("format of a safe string");
  if (args.named.empty()) return Value::string(format_percent(to_text(v), Value::tuple(args.positional)));
  if (!args.positional.empty()) raise("both", "arguments with names, or without");
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : args.named) entries.emplace_back(Value::string(name), value);
  return Value::string(format_percent(to_text(v), make_dict(std::move(entries))));
}

Value filter_urlencode(Interpreter&, const Value& v, const Args& args) {
  bind(args, "urlencode", {});
  const auto quote = [](const Value& value, bool slash) {
    std::string to;
    for (char c : to_text(value)) {
      const auto u = static_cast<unsigned char>(c);
      if (u < 0x80 && (std::isalnum(u) || std::strchr("_.-~", c) || (slash && c == '/')) && c) {
        to += c;
      } else {
        char text[8];
        std::snprintf(text, sizeof text, "%%%02X", u);
        to += text;
      }
    }
    return to;
  };
  if (v.is(Kind::string) || !is_iterable(v)) return Value::string(quote(v, true));
  std::string to;
  const auto query = [&](const Value& value) { return replaced(quote(value, false), "%20", "+"); };
  const auto add = [&](const Value& key, const Value& value) {
    if (!to.empty()) to += '&';
    to += query(key) + "=" + query(value);
    Meter::step(1 + to.size() / 4096);
  };
  if (v.is(Kind::dict)) {
    for (const auto& [key, value] : v.as_dict().entries) add(key, value);
  } else {
    for (const Value& pair : items_of(v)) {
      const std::vector<Value> two = items_of(pair);
      if (two.size() != 2) raise(std::to_string(two.size()) + " values", "pairs of keys and values");
      add(two[0], two[1]);
    }
  }
  return Value::string(std::move(to));
}

Value filter_int(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "int", {"default", "base"});
  const Value fallback = given[0] ? *given[0] : Value::integer(0);
  if (v.is_integral()) return Value::integer(v.as_int());
  if (v.is(Kind::undefined)) use_of_undefined(v);
  if (v.is(Kind::real)) {
    if (std::isnan(v.as_real())) return fallback;
    if (std::isinf(v.as_real())) raise(real_text(v.as_real()), "a number that has an integer");
    return Value::integer(integer_of(v.as_real()));
  }
  if (!v.is(Kind::string)) return fallback;
  int64_t base = 10, n = 0;
  if (given[1]) base = integer_argument(*given[1], "a base");
  if ((base == 0 || (base >= 2 && base <= 36)) && read_integer(v.as_string(), base, n))
    return Value::integer(n);
  double d = 0;
  if (!read_real(v.as_string(), d) || !std::isfinite(d)) return fallback;
  return Value::integer(integer_of(d));
}

Value filter_float(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "float", {"default"});
  if (v.is_number()) return Value::real(v.as_real());
  if (v.is(Kind::undefined)) use_of_undefined(v);
  double d = 0;
  if (v.is(Kind::string) && read_real(v.as_string(), d)) return Value::real(d);
  return given[0] ? *given[0] : Value::real(0);
}

Value filter_abs(Interpreter&, const Value& v, const Args& args) {
  bind(args, "abs", {});
  check_defined(v);
  if (v.is(Kind::real)) return Value::real(std::fabs(v.as_real()));
  if (!v.is_integral()) raise(std::string("a value of type ") + v.type_name(), "a number");
  return v.as_int() < 0 ? negative(v) : positive(v);
}

Value filter_round(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "round", {"precision", "method"});
  const int64_t digits = given[0] ? integer_argument(*given[0], "a precision") : 0;
  const std::string method = given[1] ? string_argument(*given[1], "a method") : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    raise("'" + method + "'", "common, ceil or floor");
  check_defined(v);
  if (!v.is_number()) raise(std::string("a value of type ") + v.type_name(), "a number to round");
  if (method == "common") {
    if (v.is(Kind::real)) return Value::real(rounded(v.as_real(), digits));
    if (digits >= 0) return Value::integer(v.as_int());
    if (digits < -18) return Value::integer(0);
    int64_t unit = 1;
    for (int64_t i = 0; i < -digits; ++i) unit *= 10;
    const int64_t n = v.as_int(), down = n - (n % unit + unit) % unit, rest = n - down;
    const bool up = rest > unit - rest || (rest == unit - rest && (down / unit) % 2 != 0);
    return arithmetic("+", Value::integer(down), Value::integer(up ? unit : 0));
  }
  const Value unit = arithmetic("**", Value::integer(10), Value::integer(digits));
  const Value scaled = arithmetic("*", v, unit);
  if (scaled.is_integral()) return arithmetic("/", scaled, unit);
  const double whole = method == "ceil" ? std::ceil(scaled.as_real()) : std::floor(scaled.as_real());
  return arithmetic("/", Value::integer(integer_of(whole)), unit);
}

constexpr FilterEntry text_entries[] = {
    {"abs", filter_abs},
    {"capitalize", text_filter<capitalize_text>},
    {"center", filter_center},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"float", filter_float},
    {"forceescape", filter_forceescape},
    {"format", filter_format},
    {"indent", filter_indent},
    {"int", filter_int},
    {"lower", text_filter<lower_text>},
    {"replace", filter_replace},
    {"round", filter_round},
    {"safe", filter_safe},
    {"string", filter_string},
    {"title", filter_title},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"upper", text_filter<upper_text>},
    {"urlencode", filter_urlencode},
    {"wordcount", filter_wordcount},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return text_entries; }

}  // namespace lathe::jinja
