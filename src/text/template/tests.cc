// Tests: what follows `is`.
#include <algorithm>
#include <cmath>

#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {

template <Kind... kinds>
bool is_kind(Interpreter&, const Value& v, const Args& args) {
  bind(args, "the test", {});
  return (v.is(kinds) || ...);
}

template <bool value>
bool is_boolean_value(Interpreter&, const Value& v, const Args& args) {
  bind(args, "the test", {});
  return v.is(Kind::boolean) && v.as_bool() == value;
}

bool is_defined(Interpreter&, const Value& v, const Args& args) {
  bind(args, "defined", {});
  return !v.is(Kind::undefined);
}

bool is_number_value(Interpreter&, const Value& v, const Args& args) {
  bind(args, "number", {});
  return v.is_number();
}

bool is_iterable_value(Interpreter&, const Value& v, const Args& args) {
  bind(args, "iterable", {});
  return is_iterable(v) || v.is(Kind::loop);
}

bool is_sequence(Interpreter&, const Value& v, const Args& args) {
  bind(args, "sequence", {});
  return v.is(Kind::undefined) || v.is(Kind::string) || v.is_items() || v.is(Kind::dict) || v.is(Kind::range);
}

bool is_callable(Interpreter&, const Value& v, const Args& args) {
  bind(args, "callable", {});
  // An undefined value has a method for calls, which fails.
  return v.is(Kind::undefined) || v.is(Kind::macro) || v.is(Kind::method) || v.is(Kind::function) ||
         v.is(Kind::joiner) || v.is(Kind::loop);
}

template <bool (*holds)(std::string_view)>
bool is_text(Interpreter&, const Value& v, const Args& args) {
  bind(args, "the test", {});
  return holds(to_text(v));
}

template <int rest>
bool is_parity(Interpreter&, const Value& v, const Args& args) {
  bind(args, "the test", {});
  return equal(arithmetic("%", v, Value::integer(2)), Value::integer(rest));
}

bool is_divisible(Interpreter&, const Value& v, const Args& args) {
  return equal(arithmetic("%", v, *bind(args, "divisibleby", {"num"}, 1)[0]), Value::integer(0));
}

bool is_same(Interpreter&, const Value& v, const Args& args) {
  const Value& other = *bind(args, "sameas", {"other"}, 1)[0];
  if (v.kind() != other.kind()) return false;
  if (v.is(Kind::none)) return true;
  if (v.is(Kind::boolean)) return v.as_bool() == other.as_bool();
  if (v.is(Kind::integer) && v.as_int() != other.as_int()) return false;
  if (v.is(Kind::integer) && v.as_int() >= -5 && v.as_int() <= 256) return true;
  if (v.identity() && v.identity() == other.identity()) return true;
  if ((v.is(Kind::string) || v.is(Kind::real) || v.is(Kind::integer) || v.is(Kind::tuple)) && equal(v, other))
    unsupported("sameas of values that are equal", "'=='");
  return false;
}

bool is_in(Interpreter&, const Value& v, const Args& args) {
  return contains(*bind(args, "in", {"seq"}, 1)[0], v);
}

template <char op>
bool compares(Interpreter&, const Value& v, const Args& args) {
  const Value& other = *bind(args, "the test", {""}, 1)[0];
  switch (op) {
    case '=':
      return equal(v, other);
    case '!':
      return !equal(v, other);
    case '<':
      return ordered(v, other, "<");
    case 'l':
      return ordered(v, other, "<=");
    case '>':
      return ordered(v, other, ">");
    default:
      return ordered(v, other, ">=");
  }
}

bool is_filter_name(Interpreter&, const Value& v, const Args& args) {
  bind(args, "filter", {});
  return v.is(Kind::string) && find_filter(v.as_string());
}

bool is_test_name(Interpreter&, const Value& v, const Args& args) {
  bind(args, "test", {});
  return v.is(Kind::string) && find_test(v.as_string());
}

bool is_escaped(Interpreter&, const Value& v, const Args& args) {
  bind(args, "escaped", {});
  return v.is_markup();
}

constexpr TestEntry entries[] = {
    {"!=", compares<'!'>},
    {"<", compares<'<'>},
    {"<=", compares<'l'>},
    {"==", compares<'='>},
    {">", compares<'>'>},
    {">=", compares<'g'>},
    {"boolean", is_kind<Kind::boolean>},
    {"callable", is_callable},
    {"defined", is_defined},
    {"divisibleby", is_divisible},
    {"eq", compares<'='>},
    {"equalto", compares<'='>},
    {"escaped", is_escaped},
    {"even", is_parity<0>},
    {"false", is_boolean_value<false>},
    {"filter", is_filter_name},
    {"float", is_kind<Kind::real>},
    {"ge", compares<'g'>},
    {"greaterthan", compares<'>'>},
    {"gt", compares<'>'>},
    {"in", is_in},
    {"integer", is_kind<Kind::integer>},
    {"iterable", is_iterable_value},
    {"le", compares<'l'>},
    {"lessthan", compares<'<'>},
    {"lower", is_text<is_lower_text>},
    {"lt", compares<'<'>},
    {"mapping", is_kind<Kind::dict>},
    {"ne", compares<'!'>},
    {"none", is_kind<Kind::none>},
    {"number", is_number_value},
    {"odd", is_parity<1>},
    {"sameas", is_same},
    {"sequence", is_sequence},
    {"string", is_kind<Kind::string>},
    {"test", is_test_name},
    {"true", is_boolean_value<true>},
    {"undefined", is_kind<Kind::undefined>},
    {"upper", is_text<is_upper_text>},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  for (const TestEntry& t : entries)
    if (name == t.name) return &t;
  return nullptr;
}

}  // namespace lathe::jinja
