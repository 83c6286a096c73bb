// Values of templates, with the meaning of Python's: immutable but for namespaces, cyclers, joiners and
// iterators.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lathe/error.h"

namespace lathe::jinja {

/// Why a template cannot be read or rendered. Callers of the library do not see it: ChatTemplate makes an
/// Error of it, with line and column.
struct Fault {
  Code code;
  std::string expected, got, remedy;
  size_t at = static_cast<size_t>(-1);  // byte of the source, where known
};
/// Ends the rendering: what Python raises.
[[noreturn]] void raise(std::string got, std::string expected = {});
[[noreturn]] void unsupported(std::string got, std::string expected = {});
[[noreturn]] void too_large(std::string got, std::string expected);

// Limits of templates, which chat_template.h publishes.
constexpr size_t max_source = size_t{1} << 20;
constexpr int max_nesting = 100;            // statements, and parentheses, of a source
constexpr int max_expression = 200;         // levels of an expression
constexpr int max_value_nesting = 100;      // of lists and dicts
constexpr int max_macro_depth = 100;        // macros that call each other
constexpr uint64_t max_steps = 10'000'000;  // of a rendering: about a second
constexpr size_t max_output = size_t{64} << 20;
constexpr size_t max_live = size_t{256} << 20;  // bytes of all values of a rendering
constexpr int64_t max_range = 100'000;          // items of range(), as in Jinja2's sandbox

/// Counts what a rendering costs. One thread has at most one at a time.
class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  /// The one of this thread; nullptr while nothing is rendered.
  static Meter* current();
  /// Throws when all steps together are too many.
  static void step(uint64_t n = 1) {
    if (Meter* m = current(); m && (m->steps_ += n) > max_steps) m->stop();
  }
  /// Throws before something of so many bytes is made that does not fit.
  static void expect(uint64_t bytes);
  void add(size_t bytes);
  void remove(size_t bytes) { live_ -= bytes; }

 private:
  [[noreturn]] void stop();
  Meter* outer_;
  uint64_t steps_ = 0;
  size_t live_ = 0;
};

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  dict,
  range,
  view,      // keys(), values() or items() of a dict
  iterator,  // runs once: what filters such as map return
  space,     // namespace()
  macro,
  method,    // of a value
  function,  // range, dict, …
  cycler,
  joiner,
  loop,
};

class Value;

/// What a value refers to. It charges the rendering's meter while it lives.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (meter) meter->remove(charged);
  }
  void charge(size_t bytes);
  /// Becomes one level deeper than a value that it holds. Throws when that is too deep, since values are
  /// destroyed by recursion.
  void nest(const Value& v);
  Meter* meter = nullptr;
  size_t charged = 0;
  int depth = 0;  // levels of lists and dicts in it
};

struct Text;
struct Items;
struct Dict;
struct RangeObject;

class Value {
 public:
  Value() = default;  // undefined, without a message
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool b);
  static Value integer(int64_t i);
  static Value real(double d);
  static Value string(std::string s, bool markup = false);
  static Value list(std::vector<Value> items) { return items_of(Kind::list, std::move(items)); }
  static Value tuple(std::vector<Value> items) { return items_of(Kind::tuple, std::move(items)); }
  static Value iterator(std::vector<Value> items) { return items_of(Kind::iterator, std::move(items)); }
  static Value range(int64_t start, int64_t stop, int64_t step);
  static Value dict(std::shared_ptr<Dict> d);
  /// An undefined value, whose use fails with this message.
  static Value undefined(std::string message);
  static Value object(Kind kind, std::shared_ptr<Object> o);

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool is_number() const { return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::real; }
  /// Integers and booleans, which are integers in Python.
  bool is_integral() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
  bool is_markup() const { return markup_; }
  bool is_items() const { return kind_ == Kind::list || kind_ == Kind::tuple; }

  bool as_bool() const { return number_.i != 0; }
  int64_t as_int() const { return number_.i; }
  double as_real() const { return kind_ == Kind::real ? number_.d : static_cast<double>(number_.i); }
  const std::string& as_string() const;
  const std::vector<Value>& as_items() const;
  const Dict& as_dict() const;
  const RangeObject& as_range() const;
  template <class T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  const Object* identity() const { return object_.get(); }
  std::shared_ptr<Object> shared() const { return object_; }

  /// Python's bool().
  bool truth() const;
  /// The name of the type in messages: "str", "list", …
  const char* type_name() const;
  int depth() const { return object_ ? object_->depth : 0; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  static Value items_of(Kind kind, std::vector<Value> items);
  Kind kind_ = Kind::undefined;
  bool markup_ = false;
  union {
    int64_t i = 0;
    double d;
  } number_;
  std::shared_ptr<Object> object_;
};

struct Text : Object {
  std::string s;
  bool ascii = true;
};
struct Items : Object {
  std::vector<Value> v;
  size_t next = 0;        // of an iterator: the first item that is left
  const char* name = "";  // of a view: "dict_keys", …
};
struct RangeObject : Object {
  int64_t start = 0, stop = 0, step = 1;
  int64_t size() const;
};

/// A dict keeps the order in which keys came.
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Replaces or appends. Throws for keys that have no hash.
  void put(Value key, Value value);

 private:
  std::unordered_map<std::string, uint32_t> index_;
};

struct Space : Object {
  std::shared_ptr<Dict> members = std::make_shared<Dict>();
};
struct Method : Object {
  Value self;
  std::string name;
};
struct Function : Object {
  std::string name;
};
struct Cycler : Object {
  std::vector<Value> items;
  size_t at = 0;
};
struct Joiner : Object {
  std::string separator;
  bool used = false;
};

Value make_function(std::string name);
Value make_dict(std::vector<std::pair<Value, Value>> entries);

/// The number of characters or items; throws for values without length.
int64_t length_of(const Value& v);
/// The items that iteration gives; an iterator has none afterwards. Throws for values that are not iterable.
std::vector<Value> items_of(const Value& v);
bool is_iterable(const Value& v);
/// The character at a place that exists.
Value character_at(const Text& t, size_t index);

/// std::string::find in linear time, whatever the texts are.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

bool equal(const Value& a, const Value& b);
/// Whether a comes before b, for one of "<", "<=", ">", ">=". Throws for values without order.
bool ordered(const Value& a, const Value& b, const char* op);
bool less(const Value& a, const Value& b);
bool contains(const Value& container, const Value& item);
/// Text that equal keys share. Throws for values that have no hash.
std::string key_text(const Value& v);

/// Python's str() and repr(). Throws for values whose text would hold an address.
std::string to_text(const Value& v);
std::string to_repr(const Value& v);
std::string real_text(double d);
std::string quoted(std::string_view s);
/// Appends str() of the value.
void append_text(std::string& to, const Value& v);

struct JsonStyle {
  bool ascii = false;  // escapes all that is not ASCII
  bool sort_keys = false;
  bool lines = false;  // breaks lines and indents
  std::string indent, item_separator = ", ", key_separator = ": ";
};
std::string json_text(const Value& v, const JsonStyle& style);
/// Reads JSON. `name` says in messages what it is.
Value parse_json_value(std::string_view text, const std::string& name);

/// Fails because something is done to a value that does not exist.
[[noreturn]] void use_of_undefined(const Value& v);
inline void check_defined(const Value& v) {
  if (v.is(Kind::undefined)) use_of_undefined(v);
}

}  // namespace lathe::jinja
