// Methods of lists, dicts and other values, global functions, and what strings share with filters.
#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/letters.h"
#include "text/template/characters.h"
#include "text/template/interpreter.h"

namespace lathe::jinja {

bool Args::take(std::string_view name, Value& to) {
  for (auto i = named.begin(); i != named.end(); ++i)
    if (i->first == name) {
      to = std::move(i->second);
      named.erase(i);
      return true;
    }
  return false;
}

std::vector<const Value*> bind(const Args& args, std::string_view function,
                               std::initializer_list<const char*> parameters, size_t required) {
  std::vector<const Value*> given(parameters.size());
  if (args.positional.size() > parameters.size())
    raise(std::to_string(args.positional.size()),
          "at most " + std::to_string(parameters.size()) + " arguments of " + std::string(function));
  for (size_t i = 0; i < args.positional.size(); ++i) given[i] = &args.positional[i];
  for (const auto& [name, v] : args.named) {
    const auto* p =
        std::ranges::find_if(parameters, [&](const char* known) { return name == known && *known; });
    if (p == parameters.end()) raise("'" + name + "'", "an argument that " + std::string(function) + " has");
    const Value*& place = given[static_cast<size_t>(p - parameters.begin())];
    if (place) raise("'" + name + "' twice", "each argument once");
    place = &v;
  }
  for (size_t i = 0; i < required; ++i)
    if (!given[i])
      raise("fewer", "at least " + std::to_string(required) + " arguments of " + std::string(function));
  return given;
}

int64_t integer_argument(const Value& v, std::string_view what) {
  check_defined(v);
  if (!v.is_integral())
    raise(std::string("a value of type ") + v.type_name(), std::string(what) + " that is an integer");
  return v.as_int();
}

const std::string& string_argument(const Value& v, std::string_view what) {
  if (!v.is(Kind::string)) raise(std::string("a value of type ") + v.type_name(), std::string(what));
  return v.as_string();
}

Value list_of_texts(const std::vector<std::string_view>& parts) {
  std::vector<Value> all;
  Meter::expect(parts.size() * sizeof(Value));
  all.reserve(parts.size());
  for (std::string_view p : parts) all.push_back(Value::string(std::string(p)));
  return Value::list(std::move(all));
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count) {
  std::string to;
  const auto check = [&] {
    if (to.size() > max_output)
      too_large("more", "texts of at most " + std::to_string(max_output) + " bytes");
    Meter::step(1 + by.size() / 64);
  };
  Meter::expect(text.size());
  size_t at = 0;
  if (old.empty()) {
    // Before each character and at the end.
    while (count != 0) {
      to += by;
      check();
      --count;
      if (at >= text.size()) return to;
      const size_t n = byte_of_character(text.substr(at, 5), 1);
      to += text.substr(at, n);
      at += n;
    }
    return to.append(text.substr(at));
  }
  for (; count != 0; --count) {
    const size_t found = find_text(text, old, at);
    if (found == text.npos) break;
    to += text.substr(at, found - at);
    to += by;
    check();
    at = found + old.size();
  }
  return to.append(text.substr(at));
}

std::vector<std::string_view> split_lines(std::string_view s, bool keep_ends) {
  std::vector<std::string_view> lines;
  Meter::expect(s.size());
  size_t begin = 0;
  for (size_t i = 0; i < s.size();) {
    char32_t c = 0;
    const size_t n = std::max<size_t>(decode_utf8(s, i, c), 1);
    const bool ends =
        (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
    const size_t end = i;
    i += n;
    if (!ends) continue;
    if (c == '\r' && i < s.size() && s[i] == '\n') ++i;
    check_parts(lines.size());
    lines.push_back(s.substr(begin, (keep_ends ? i : end) - begin));
    begin = i;
  }
  if (begin < s.size()) lines.push_back(s.substr(begin));
  return lines;
}

std::string_view strip_characters(std::string_view text, std::string_view characters, bool left, bool right) {
  std::u32string set = decode(characters);
  std::sort(set.begin(), set.end());
  const auto in_set = [&](size_t at) {
    char32_t c = 0;
    decode_utf8(text, at, c);
    return std::binary_search(set.begin(), set.end(), c);
  };
  size_t begin = 0, end = text.size();
  while (left && begin < end && in_set(begin)) begin += byte_of_character(text.substr(begin, 5), 1);
  while (right && end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    if (!in_set(at)) break;
    end = at;
  }
  return text.substr(begin, end - begin);
}

std::string aligned(std::string_view text, int64_t width, char how, std::string_view fill) {
  const auto length = static_cast<int64_t>(character_count(text));
  const int64_t space = width > length ? width - length : 0;
  int64_t left = 0;
  if (how == '>') left = space;
  // str.center puts the odd one left where the width is odd; the format '^' always puts it right.
  if (how == 'c') left = space / 2 + (space & width & 1);
  if (how == '^') left = space / 2;
  const std::string before = repeated(fill, left), after = repeated(fill, space - left);
  return before + std::string(text) + after;
}

std::string escaped_html(std::string_view text) {
  std::string to;
  Meter::expect(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        to += "&amp;";
        break;
      case '<':
        to += "&lt;";
        break;
      case '>':
        to += "&gt;";
        break;
      case '"':
        to += "&#34;";
        break;
      case '\'':
        to += "&#39;";
        break;
      default:
        to += c;
    }
  }
  return to;
}

namespace {

constexpr std::string_view dict_methods[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                             "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::string_view dict_changes[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view list_methods[] = {"append", "clear", "copy",   "count",   "extend", "index",
                                             "insert", "pop",   "remove", "reverse", "sort"};
constexpr std::string_view list_changes[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};
constexpr std::string_view number_methods[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
    "numerator",        "real",      "to_bytes"};

bool among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Value view_of(const Value& dict, const char* name, bool keys, bool values) {
  auto o = std::make_shared<Items>();
  const auto& entries = dict.as_dict().entries;
  Meter::expect(entries.size() * sizeof(Value));
  o->name = name;
  o->depth = 1;
  for (const auto& [key, value] : entries) {
    o->v.push_back(keys && values ? Value::tuple({key, value}) : keys ? key : value);
    o->nest(o->v.back());
  }
  o->charge(sizeof(Items) + entries.size() * sizeof(Value));
  return Value::object(Kind::view, std::move(o));
}

Value call_dict_method(const Value& self, const std::string& name, const Args& args) {
  if (name == "get") {
    const auto given = bind(args, "get", {"", ""}, 1);
    if (const Value* v = self.as_dict().find(*given[0])) return *v;
    return given[1] ? *given[1] : Value::none();
  }
  if (name == "fromkeys") unsupported("dict.fromkeys");
  bind(args, name, {});
  if (name == "keys") return view_of(self, "dict_keys", true, false);
  if (name == "values") return view_of(self, "dict_values", false, true);
  if (name == "items") return view_of(self, "dict_items", true, true);
  return self;  // copy: nothing changes either
}

Value call_sequence_method(const Value& self, const std::string& name, const Args& args) {
  if (name == "copy") {
    bind(args, name, {});
    return self;
  }
  const auto given = bind(args, name, {"", "", ""}, 1);
  const std::vector<Value> items = items_of(self);
  if (name == "count") {
    if (given[1]) raise("more", "one argument of count");
    int64_t count = 0;
    for (const Value& v : items) count += equal(v, *given[0]);
    return Value::integer(count);
  }
  const auto size = static_cast<int64_t>(items.size());
  const auto place = [&](const Value* v, int64_t absent) {
    if (!v) return absent;
    const int64_t i = integer_argument(*v, "a position");
    return i < 0 ? std::max<int64_t>(i + size, 0) : i;
  };
  if (self.is(Kind::range) && given[1]) raise("more", "one argument of index");
  const int64_t end = std::min(place(given[2], size), size);
  for (int64_t i = place(given[1], 0); i < end; ++i)
    if (equal(items[static_cast<size_t>(i)], *given[0])) return Value::integer(i);
  raise("a list without it", "a list that holds what index() looks for");
}

}  // namespace

bool has_method(const Value& v, std::string_view name) {
  switch (v.kind()) {
    case Kind::dict:
      return among(dict_methods, name);
    case Kind::list:
      return among(list_methods, name);
    case Kind::tuple:
    case Kind::range:
      return name == "count" || name == "index";
    case Kind::string:
      return has_string_method(name);
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      if (among(number_methods, name)) unsupported("'" + std::string(name) + "' of a number");
      return false;
    case Kind::view:
      if (name == "isdisjoint" || name == "mapping")
        unsupported("'" + std::string(name) + "' of a view of a dict");
      return false;
    default:
      return false;
  }
}

bool is_forbidden_method(const Value& v, std::string_view name) {
  return (v.is(Kind::dict) && among(dict_changes, name)) || (v.is(Kind::list) && among(list_changes, name));
}

Value call_method(Interpreter& in, const Value& self, const std::string& name, const Args& args) {
  switch (self.kind()) {
    case Kind::dict:
      return call_dict_method(self, name, args);
    case Kind::string:
      return call_string_method(in, self, name, args);
    case Kind::cycler: {
      bind(args, name, {});
      auto& c = self.as<Cycler>();
      const Value now = c.items[c.at];
      if (name == "reset") {
        c.at = 0;
        return Value::none();
      }
      c.at = (c.at + 1) % c.items.size();
      return now;
    }
    default:
      return call_sequence_method(self, name, args);
  }
}

namespace {

std::vector<std::pair<Value, Value>> dict_entries(const Args& args) {
  std::vector<std::pair<Value, Value>> entries;
  if (args.positional.size() > 1) raise("more", "at most one argument without a name");
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Kind::dict)) {
      entries = from.as_dict().entries;
      Meter::expect(entries.size() * 2 * sizeof(Value));
    } else if (from.is(Kind::space) || from.is(Kind::loop)) {
      unsupported("a dict of this value", "a dict, or a list of pairs");
    } else {
      for (const Value& pair : items_of(from)) {
        std::vector<Value> two = items_of(pair);
        if (two.size() != 2) raise(std::to_string(two.size()) + " values", "pairs of keys and values");
        entries.emplace_back(std::move(two[0]), std::move(two[1]));
      }
    }
  }
  for (const auto& [name, v] : args.named) entries.emplace_back(Value::string(name), v);
  return entries;
}

Value make_range(const Args& args) {
  const auto given = bind(args, "range", {"", "", ""}, 1);
  const auto part = [&](const Value* v, int64_t absent) {
    return v ? integer_argument(*v, "a part of range()") : absent;
  };
  const int64_t start = given[1] ? part(given[0], 0) : 0;
  const int64_t stop = given[1] ? part(given[1], 0) : part(given[0], 0);
  const int64_t step = part(given[2], 1);
  if (step == 0) raise("a step of 0", "another step of range()");
  // Without overflow, whatever the numbers are.
  const long double span = step > 0 ? static_cast<long double>(stop) - static_cast<long double>(start)
                                    : static_cast<long double>(start) - static_cast<long double>(stop);
  const long double size = step > 0 ? static_cast<long double>(step) : -static_cast<long double>(step);
  if (span / size > static_cast<long double>(max_range))
    too_large("more", "a range of at most " + std::to_string(max_range) + " numbers");
  constexpr int64_t far = int64_t{1} << 61;
  if (start > far || start < -far || stop > far || stop < -far || step > far || step < -far) {
    if (span <= 0) return Value::range(0, 0, 1);
    unsupported("a range of large numbers", "numbers below 2**61");
  }
  return Value::range(start, stop, step);
}

Value time_text(const Interpreter& in, const Args& args) {
  const std::string& format =
      string_argument(*bind(args, "strftime_now", {"format"}, 1)[0], "a format of times");
  const std::time_t now = in.now() ? static_cast<std::time_t>(*in.now()) : std::time(nullptr);
  std::tm parts{};
  if (!localtime_r(&now, &parts)) raise("another time", "a time that the calendar has");
  for (size_t i = 0; i + 1 < format.size(); ++i)
    if (format[i] == '%' && (format[i + 1] == 'f' || format[++i] == 'f'))
      unsupported("%f in a format of times");
  if (format.size() > 4096) too_large("more", "a format of times of at most 4096 bytes");
  std::string to(format.size() * 64 + 64, '\0');
  if (format.empty()) return Value::string("");
  to.resize(std::strftime(to.data(), to.size(), format.c_str(), &parts));
  return Value::string(std::move(to));
}

constexpr const char* functions[] = {"range",  "dict",   "namespace",       "cycler",
                                     "joiner", "lipsum", "raise_exception", "strftime_now"};

}  // namespace

std::span<const char* const> global_functions() { return functions; }

Value call_function(Interpreter& in, const std::string& name, const Args& args) {
  if (name == "range") return make_range(args);
  if (name == "dict") return make_dict(dict_entries(args));
  if (name == "namespace") {
    auto s = std::make_shared<Space>();
    s->charge(sizeof(Space) + sizeof(Dict));
    s->nest(Value());
    for (auto& [key, v] : dict_entries(args)) {
      s->nest(v);
      if (key.is(Kind::string) && key.as_string().starts_with("_"))
        raise("'" + key.as_string() + "'", "attributes that do not begin with an underscore");
      s->members->put(std::move(key), std::move(v));
    }
    return in.keep_space(std::move(s));
  }
  if (name == "cycler") {
    if (!args.named.empty()) raise("'" + args.named[0].first + "'", "arguments without names");
    if (args.positional.empty()) raise("none", "at least one item of cycler()");
    auto c = std::make_shared<Cycler>();
    c->items = args.positional;
    for (const Value& v : c->items) c->nest(v);
    c->charge(sizeof(Cycler) + c->items.size() * sizeof(Value));
    return Value::object(Kind::cycler, std::move(c));
  }
  if (name == "joiner") {
    const auto given = bind(args, "joiner", {"sep"});
    auto j = std::make_shared<Joiner>();
    j->separator = given[0] ? string_argument(*given[0], "a separator") : ", ";
    j->charge(sizeof(Joiner) + j->separator.size());
    return Value::object(Kind::joiner, std::move(j));
  }
  if (name == "raise_exception") {
    const Value message = *bind(args, "raise_exception", {"message"}, 1)[0];
    throw Fault{Code::template_failed, {}, to_text(message), {}};
  }
  if (name == "strftime_now") return time_text(in, args);
  unsupported("'" + name + "'", "range, dict, namespace, cycler, joiner, raise_exception or strftime_now");
}

}  // namespace lathe::jinja
