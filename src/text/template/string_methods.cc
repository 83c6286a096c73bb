// Methods of strings, as Python's str has them.
#include <algorithm>
#include <cstring>

#include "base/letters.h"
#include "text/template/characters.h"
#include "text/template/filters.h"

namespace lathe::jinja {

namespace {

struct StringMethod {
  const char* name;
  Value (*apply)(Interpreter&, const Value&, const Args&);
};

[[noreturn]] Value not_there(Interpreter&, const Value&, const Args&) {
  unsupported("this method of strings");
}

template <std::string (*convert)(std::string_view)>
Value converted(Interpreter&, const Value& s, const Args& args) {
  bind(args, "the method", {});
  Meter::expect(s.as_string().size() * 5);
  return Value::string(convert(s.as_string()), s.is_markup());
}

template <uint16_t flags, bool for_empty = false>
Value all_are(Interpreter&, const Value& s, const Args& args) {
  bind(args, "the method", {});
  Meter::step(s.as_string().size() / 4);
  if (s.as_string().empty()) return Value::boolean(for_empty);
  return Value::boolean(
      std::ranges::all_of(decode(s.as_string()), [](char32_t c) { return has_flag(c, flags); }));
}

template <bool left, bool right>
Value stripped(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "strip", {""});
  const std::string_view text = s.as_string();
  if (!given[0] || given[0]->is(Kind::none))
    return Value::string(std::string(strip_space(text, left, right)), s.is_markup());
  const std::string& characters = string_argument(*given[0], "characters to strip");
  return Value::string(std::string(strip_characters(text, characters, left, right)), s.is_markup());
}

/// The bytes [begin, end) of a text that two arguments choose by characters; false if there are none.
bool byte_range(const std::string& text, const Value* from, const Value* to, size_t& begin, size_t& end) {
  Meter::step(text.size() / 16);
  const bool ascii = is_ascii(text);
  const auto count = static_cast<int64_t>(ascii ? text.size() : character_count(text));
  const auto place = [&](const Value* v, int64_t absent) {
    if (!v || v->is(Kind::none)) return absent;
    int64_t i = integer_argument(*v, "a position");
    if (i < 0) i = std::max<int64_t>(i + count, 0);
    return i;
  };
  const int64_t a = place(from, 0), b = std::min(place(to, count), count);
  if (a > b || a > count) return false;
  begin = ascii ? static_cast<size_t>(a) : byte_of_character(text, static_cast<size_t>(a));
  end = ascii ? static_cast<size_t>(b) : byte_of_character(text, static_cast<size_t>(b));
  return true;
}

template <bool starts>
Value matches_end(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, starts ? "startswith" : "endswith", {"", "", ""}, 1);
  size_t begin = 0, end = 0;
  const bool there = byte_range(s.as_string(), given[1], given[2], begin, end);
  const std::string_view text = std::string_view(s.as_string()).substr(begin, end - begin);
  const auto matches = [&](const Value& v) {
    const std::string& part = string_argument(v, "a string, or a tuple of strings,");
    return there && (starts ? text.starts_with(part) : text.ends_with(part));
  };
  if (!given[0]->is(Kind::tuple)) return Value::boolean(matches(*given[0]));
  for (const Value& v : given[0]->as_items())
    if (matches(v)) return Value::boolean(true);
  return Value::boolean(false);
}

/// The byte at which a part is found last; linear for parts of bounded size, and charged for others.
size_t find_last(std::string_view text, std::string_view part) {
  if (part.size() > text.size()) return text.npos;
  Meter::step(text.size() / 64 +
              (part.size() > 64 ? (text.size() - part.size()) * (part.size() / 64) / 16 : 0));
  return text.rfind(part);
}

template <bool last, bool must>
Value found(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "find", {"", "", ""}, 1);
  const std::string& part = string_argument(*given[0], "a string to find");
  size_t begin = 0, end = 0, at = std::string::npos;
  if (byte_range(s.as_string(), given[1], given[2], begin, end)) {
    const std::string_view text = std::string_view(s.as_string()).substr(begin, end - begin);
    at = last ? find_last(text, part) : find_text(text, part);
  }
  if (at == std::string::npos) {
    if (must) raise("a string without it", "a string that holds what index() looks for");
    return Value::integer(-1);
  }
  return Value::integer(
      static_cast<int64_t>(character_count(std::string_view(s.as_string()).substr(0, begin + at))));
}

Value counted(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "count", {"", "", ""}, 1);
  const std::string& part = string_argument(*given[0], "a string to count");
  size_t begin = 0, end = 0;
  if (!byte_range(s.as_string(), given[1], given[2], begin, end)) return Value::integer(0);
  const std::string_view text = std::string_view(s.as_string()).substr(begin, end - begin);
  if (part.empty()) return Value::integer(static_cast<int64_t>(character_count(text)) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = find_text(text, part, at)) != text.npos; at += part.size()) ++count;
  return Value::integer(count);
}

Value replaced_method(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "replace", {"", "", ""}, 2);
  const int64_t count = given[2] ? integer_argument(*given[2], "a count") : -1;
  return Value::string(replaced(s.as_string(), string_argument(*given[0], "a string to replace"),
                                string_argument(*given[1], "a string to put there"), count));
}

std::vector<std::string_view> split_at_spaces(std::string_view s, int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  s = strip_space(s, !from_right, from_right);
  while (!s.empty()) {
    check_parts(parts.size());
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(strip_space(s, from_right, !from_right).empty() ? std::string_view() : s);
      if (parts.back().empty()) parts.pop_back();
      break;
    }
    size_t cut = from_right ? s.size() : 0;
    if (from_right) {
      while (cut > 0) {
        size_t at = cut - 1;
        while (at > 0 && (static_cast<unsigned char>(s[at]) & 0xc0) == 0x80) --at;
        char32_t c = 0;
        decode_utf8(s, at, c);
        if (has_flag(c, char_space)) break;
        cut = at;
      }
      parts.push_back(s.substr(cut));
      s = strip_space(s.substr(0, cut), false, true);
    } else {
      while (cut < s.size()) {
        char32_t c = 0;
        const size_t n = std::max<size_t>(decode_utf8(s, cut, c), 1);
        if (has_flag(c, char_space)) break;
        cut += n;
      }
      parts.push_back(s.substr(0, cut));
      s = strip_space(s.substr(cut), true, false);
    }
  }
  return parts;
}

template <bool from_right>
Value split(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "split", {"sep", "maxsplit"});
  const int64_t most = given[1] ? integer_argument(*given[1], "maxsplit") : -1;
  std::string_view text = s.as_string();
  Meter::expect(text.size());
  std::vector<std::string_view> parts;
  if (!given[0] || given[0]->is(Kind::none)) {
    parts = split_at_spaces(text, most, from_right);
  } else {
    const std::string& separator = string_argument(*given[0], "a separator");
    if (separator.empty()) raise("an empty separator", "a separator");
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
      const size_t at = from_right ? find_last(text, separator) : find_text(text, separator);
      if (at == text.npos) break;
      check_parts(parts.size());
      if (from_right) {
        parts.push_back(text.substr(at + separator.size()));
        text = text.substr(0, at);
      } else {
        parts.push_back(text.substr(0, at));
        text = text.substr(at + separator.size());
      }
    }
    parts.push_back(text);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return list_of_texts(parts);
}

template <bool from_right>
Value partitioned(Interpreter&, const Value& s, const Args& args) {
  const std::string& separator = string_argument(*bind(args, "partition", {""}, 1)[0], "a separator");
  if (separator.empty()) raise("an empty separator", "a separator");
  const std::string& text = s.as_string();
  const size_t at = from_right ? find_last(text, separator) : find_text(text, separator);
  const Value none = Value::string("");
  if (at == text.npos)
    return Value::tuple(from_right ? std::vector{none, none, s} : std::vector{s, none, none});
  return Value::tuple({Value::string(text.substr(0, at)), Value::string(separator),
                       Value::string(text.substr(at + separator.size()))});
}

Value lines(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "splitlines", {"keepends"});
  return list_of_texts(split_lines(s.as_string(), given[0] && given[0]->truth()));
}

Value joined(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "join", {""}, 1);
  std::string out;
  bool first = true;
  check_defined(*given[0]);
  for (const Value& v : items_of(*given[0])) {
    if (!v.is(Kind::string)) raise(std::string("a value of type ") + v.type_name(), "strings to join");
    if (!first) out += s.as_string();
    first = false;
    Meter::expect(out.size() / 64 + v.as_string().size() + s.as_string().size());
    out += v.as_string();
    if (out.size() > max_output)
      too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
  }
  return Value::string(std::move(out));
}

template <char how>
Value aligned_method(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "the method", {"", ""}, 1);
  const std::string fill = given[1] ? string_argument(*given[1], "a fill character") : " ";
  if (character_count(fill) != 1) raise("another text", "one fill character");
  return Value::string(aligned(s.as_string(), integer_argument(*given[0], "a width"), how, fill));
}

Value zero_filled(Interpreter&, const Value& s, const Args& args) {
  const int64_t width = integer_argument(*bind(args, "zfill", {""}, 1)[0], "a width");
  const std::string& text = s.as_string();
  const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  const std::string zeros = repeated("0", std::max<int64_t>(width - length_of(s), 0));
  return Value::string((sign ? text.substr(0, 1) : "") + zeros + text.substr(sign));
}

template <bool prefix>
Value without(Interpreter&, const Value& s, const Args& args) {
  const std::string& part = string_argument(*bind(args, "the method", {""}, 1)[0], "a string");
  std::string_view text = s.as_string();
  if (prefix && text.starts_with(part)) text.remove_prefix(part.size());
  if (!prefix && text.ends_with(part)) text.remove_suffix(part.size());
  return Value::string(std::string(text));
}

Value tabs_expanded(Interpreter&, const Value& s, const Args& args) {
  const auto given = bind(args, "expandtabs", {"tabsize"});
  const int64_t size = given[0] ? integer_argument(*given[0], "tabsize") : 8;
  std::string out;
  int64_t column = 0;
  for (char32_t c : decode(s.as_string())) {
    if (c == '\t') {
      const int64_t n = size > 0 ? size - column % size : 0;
      out += repeated(" ", n);
      column += n;
    } else {
      append_utf8(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    if (out.size() > max_output)
      too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
  }
  return Value::string(std::move(out));
}

template <bool (*holds)(std::string_view)>
Value is_so(Interpreter&, const Value& s, const Args& args) {
  bind(args, "the method", {});
  Meter::step(s.as_string().size() / 4);
  return Value::boolean(holds(s.as_string()));
}

bool is_title_text(std::string_view text) {
  bool any = false, in_word = false;
  for (char32_t c : decode(text)) {
    const uint16_t flags = character_flags(c);
    if (flags & (char_upper | char_title)) {
      if (in_word) return false;
      any = in_word = true;
    } else if (flags & char_lower) {
      if (!in_word) return false;
      any = true;
    } else {
      in_word = (flags & char_cased) != 0;
    }
  }
  return any;
}

bool is_identifier_text(std::string_view text) {
  bool first = true;
  for (char32_t c : decode(text))
    if (!has_flag(c, std::exchange(first, false) ? char_identifier_start : char_identifier)) return false;
  return !first;
}

bool is_ascii_text(std::string_view text) { return is_ascii(text); }

Value formatted(Interpreter& in, const Value& s, const Args& args) {
  return Value::string(format_braces(in, s.as_string(), args));
}

Value formatted_by_map(Interpreter& in, const Value& s, const Args& args) {
  const Value* map = bind(args, "format_map", {""}, 1)[0];
  if (!map->is(Kind::dict)) unsupported("format_map of another value", "a dict");
  Args named;
  for (const auto& [key, v] : map->as_dict().entries)
    if (key.is(Kind::string)) named.named.emplace_back(key.as_string(), v);
  return Value::string(format_braces(in, s.as_string(), named));
}

constexpr StringMethod string_methods[] = {
    {"capitalize", converted<capitalize_text>},
    {"casefold", converted<casefold_text>},
    {"center", aligned_method<'c'>},
    {"count", counted},
    {"encode", not_there},
    {"endswith", matches_end<false>},
    {"expandtabs", tabs_expanded},
    {"find", found<false, false>},
    {"format", formatted},
    {"format_map", formatted_by_map},
    {"index", found<false, true>},
    {"isalnum", all_are<char_alpha | char_decimal | char_digit | char_numeric>},
    {"isalpha", all_are<char_alpha>},
    {"isascii", is_so<is_ascii_text>},
    {"isdecimal", all_are<char_decimal>},
    {"isdigit", all_are<char_digit>},
    {"isidentifier", is_so<is_identifier_text>},
    {"islower", is_so<is_lower_text>},
    {"isnumeric", all_are<char_numeric>},
    {"isprintable", all_are<char_printable, true>},
    {"isspace", all_are<char_space>},
    {"istitle", is_so<is_title_text>},
    {"isupper", is_so<is_upper_text>},
    {"join", joined},
    {"ljust", aligned_method<'<'>},
    {"lower", converted<lower_text>},
    {"lstrip", stripped<true, false>},
    {"maketrans", not_there},
    {"partition", partitioned<false>},
    {"removeprefix", without<true>},
    {"removesuffix", without<false>},
    {"replace", replaced_method},
    {"rfind", found<true, false>},
    {"rindex", found<true, true>},
    {"rjust", aligned_method<'>'>},
    {"rpartition", partitioned<true>},
    {"rsplit", split<true>},
    {"rstrip", stripped<false, true>},
    {"split", split<false>},
    {"splitlines", lines},
    {"startswith", matches_end<true>},
    {"strip", stripped<true, true>},
    {"swapcase", converted<swapcase_text>},
    {"title", converted<title_text>},
    {"translate", not_there},
    {"upper", converted<upper_text>},
    {"zfill", zero_filled},
};

const StringMethod* string_method(std::string_view name) {
  const auto* m = std::ranges::lower_bound(string_methods, name, {},
                                           [](const StringMethod& s) { return std::string_view(s.name); });
  return m != std::end(string_methods) && m->name == name ? m : nullptr;
}

}  // namespace

bool is_lower_text(std::string_view text) {
  bool any = false;
  for (char32_t c : decode(text)) {
    if (has_flag(c, char_upper | char_title)) return false;
    any |= has_flag(c, char_lower);
  }
  return any;
}

bool is_upper_text(std::string_view text) {
  bool any = false;
  for (char32_t c : decode(text)) {
    if (has_flag(c, char_lower | char_title)) return false;
    any |= has_flag(c, char_upper);
  }
  return any;
}

bool has_string_method(std::string_view name) { return string_method(name) != nullptr; }

Value call_string_method(Interpreter& in, const Value& self, const std::string& name, const Args& args) {
  Meter::step(self.as_string().size() / 64);
  if (self.is_markup() && !(args.positional.empty() && args.named.empty()))
    unsupported("a method of a safe string with arguments", "a string that is not marked as safe");
  return string_method(name)->apply(in, self, args);
}

}  // namespace lathe::jinja
