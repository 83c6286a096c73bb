// Filters, tests and methods of values, by name.
#pragma once

#include <initializer_list>
#include <span>

#include "text/template/value.h"

namespace lathe::jinja {

class Interpreter;

/// The arguments of a call.
struct Args {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
  /// Takes out a named argument; nullptr if it is not there.
  bool take(std::string_view name, Value& to);
};

/// The arguments in the order of parameters; nullptr for those that are not given. The first `required` must
/// be. Throws for others.
std::vector<const Value*> bind(const Args& args, std::string_view function,
                               std::initializer_list<const char*> parameters, size_t required = 0);
/// An integer argument. Throws for other types.
int64_t integer_argument(const Value& v, std::string_view what);
/// A string argument. Throws for other types.
const std::string& string_argument(const Value& v, std::string_view what);

struct FilterEntry {
  const char* name;
  Value (*apply)(Interpreter&, const Value&, const Args&);
};
struct TestEntry {
  const char* name;
  bool (*apply)(Interpreter&, const Value&, const Args&);
};
/// nullptr if there is none.
const FilterEntry* find_filter(std::string_view name);
const TestEntry* find_test(std::string_view name);
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();

/// Python's operators. `op` is "+", "-", "*", "/", "//", "%" or "**".
Value arithmetic(std::string_view op, const Value& a, const Value& b);
Value negative(const Value& v);
Value positive(const Value& v);
Value slice(const Value& v, const Value& start, const Value& stop, const Value& step);
Value concatenated(const Value& a, const Value& b);
/// round(v, digits) of Python for a float.
double rounded(double v, int64_t digits);
/// Python's int(text, base) and float(text); false if the text is no number. Numbers beyond 64 bits throw.
bool read_integer(std::string_view text, int64_t base, int64_t& to);
bool read_real(std::string_view text, double& to);
/// int() of a float. Throws for infinity, nan and what has more than 64 bits.
int64_t integer_of(double d);

/// text % values
std::string format_percent(const std::string& text, const Value& values);
/// text.format(…)
std::string format_braces(Interpreter& in, const std::string& text, const Args& args);

/// Whether values of this type have a method, and whether the sandbox keeps it from being called.
bool has_method(const Value& v, std::string_view name);
bool is_forbidden_method(const Value& v, std::string_view name);
Value call_method(Interpreter& in, const Value& self, const std::string& name, const Args& args);
Value call_string_method(Interpreter& in, const Value& self, const std::string& name, const Args& args);
bool has_string_method(std::string_view name);
/// A global function.
Value call_function(Interpreter& in, const std::string& name, const Args& args);
std::span<const char* const> global_functions();

/// str.replace, for at most `count` places where it is not negative.
std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count = -1);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);
/// str.strip(characters)
std::string_view strip_characters(std::string_view text, std::string_view characters, bool left = true,
                                  bool right = true);
/// text * count
std::string repeated(std::string_view text, int64_t count);
/// Puts fill characters around a text of fewer than `width` characters.
std::string aligned(std::string_view text, int64_t width, char how, std::string_view fill = " ");
/// Throws when so many texts cannot become values.
inline void check_parts(size_t count) {
  if (count % 1024 == 0) Meter::expect(count * (sizeof(Value) + sizeof(Text)));
}
Value list_of_texts(const std::vector<std::string_view>& parts);
std::string escaped_html(std::string_view text);
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

}  // namespace lathe::jinja
