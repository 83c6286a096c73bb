// JSON as values: parsed, looked into, made and written. The parser and the text of numbers and strings are
// those of nlohmann/json, which json.cc alone includes: every source that includes it takes seconds to
// compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe {

/// The reason why a text is no JSON, or why a value does not have the type asked for. Callers of the library
/// do not see it: code that parses turns it into an Error, which names the file.
class JsonFault : public std::exception {
 public:
  explicit JsonFault(std::string what, size_t byte = 0, bool too_deep = false)
      : what_(std::move(what)), byte_(byte), too_deep_(too_deep) {}
  const char* what() const noexcept override { return what_.c_str(); }
  /// The byte at which the parser stopped, counted from 1; 0 if the text is not at fault.
  size_t byte() const { return byte_; }
  /// The text is nested more deeply than the caller of Json::parse allows.
  bool too_deep() const { return too_deep_; }

 private:
  std::string what_;
  size_t byte_;
  bool too_deep_;
};

/// A value of JSON. It can be moved but not copied, so that no large value is copied by accident. Neither
/// parsing nor writing nor destruction recurses, so nesting is bounded by memory alone.
class Json {
 public:
  /// Whole numbers of a text are `unsigned_integer`, negative ones `integer`, those beyond 64 bits `real`.
  enum class Type : uint8_t { null, boolean, integer, unsigned_integer, real, string, array, object };
  struct Member;  // of an object
  struct Field;   // an element of an initializer list
  class Iterator;

  Json() : Json(nullptr) {}
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T v) : type_(Type::boolean) {
    value_.boolean = v;
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T v)
      : type_(std::signed_integral<T> ? Type::integer : Type::unsigned_integer) {
    if constexpr (std::signed_integral<T>)
      value_.integer = v;
    else
      value_.unsigned_integer = v;
  }
  Json(double v) : type_(Type::real) { value_.real = v; }
  Json(std::string v);
  Json(std::string_view v);
  Json(const char* v) : Json(std::string_view(v)) {}
  Json(const std::vector<std::string>& list);
  /// Makes an object: Json{{"name", n}, {"size", 3}}. If names are repeated, the first counts. The values are
  /// moved out of the list.
  Json(std::initializer_list<Field> fields);
  template <class... T>
  static Json array(T&&... items) {
    Json list(Type::array);
    (list.push_back(std::forward<T>(items)), ...);
    return list;
  }
  static Json object() { return Json(Type::object); }
  /// Parses a text. If names are repeated, the member has the first one's position and the last one's value.
  /// `max_depth` is the number of objects and lists that may contain a value; `reader`, where given, makes
  /// numbers of the text of `real` ones. Throws JsonFault.
  using RealReader = double (*)(std::string_view text);
  static Json parse(std::string_view text, size_t max_depth = std::numeric_limits<size_t>::max(),
                    RealReader reader = nullptr);

  Json(Json&& o) noexcept
      : type_(std::exchange(o.type_, Type::null)),
        indexed_(std::exchange(o.indexed_, false)),
        value_(o.value_) {}
  Json& operator=(Json o) noexcept {
    std::swap(type_, o.type_);
    std::swap(indexed_, o.indexed_);
    std::swap(value_, o.value_);
    return *this;
  }
  ~Json() {
    if (type_ >= Type::string) clear();
  }

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::null; }
  bool is_boolean() const { return type_ == Type::boolean; }
  bool is_number() const { return is_number_integer() || type_ == Type::real; }
  bool is_number_integer() const { return type_ == Type::integer || is_number_unsigned(); }
  bool is_number_unsigned() const { return type_ == Type::unsigned_integer; }
  bool is_string() const { return type_ == Type::string; }
  bool is_array() const { return type_ == Type::array; }
  bool is_object() const { return type_ == Type::object; }
  /// The name of the type in messages: "null", "boolean", "number", "string", "array", "object".
  const char* type_name() const { return name_of(type_); }
  static const char* name_of(Type type);

  /// Returns the value as bool, int64_t, uint64_t, double or std::string. Numbers are converted as C++ does,
  /// so check is_number_integer() or is_number_unsigned() first. Throws JsonFault for values of other types.
  template <class T>
  T get() const;

  /// The number of items of a list or members of an object; 0 for null and 1 for other values.
  size_t size() const;
  bool empty() const { return size() == 0; }
  /// Iterate over the items of a list or the values of an object; a null has none, another value is its own
  /// only item.
  Iterator begin() const;
  Iterator end() const;
  /// Returns an item of a list, whose index must be below size(). Throws JsonFault for other values.
  const Json& operator[](size_t i) const;
  Json& operator[](size_t i) { return const_cast<Json&>(std::as_const(*this)[i]); }
  /// Appends to a list, which null becomes. Throws JsonFault for other values.
  void push_back(Json item);

  /// Returns the member of this name; nullptr if there is none or this is no object. O(log n).
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Returns the member of this name, which is appended as null if there is none; a null becomes an object.
  /// Throws JsonFault for other values. Invalidates references to other members.
  Json& operator[](std::string_view name);
  /// Returns the members of an object; none for other values.
  std::span<const Member> items() const;

  /// Returns the text: in one line, or with `indent` spaces for each level. Bytes that are no UTF-8 become
  /// U+FFFD, infinite numbers and NaN become null.
  std::string dump(int indent = -1) const;

 private:
  struct Object;
  struct IndexedObject;
  class Builder;
  union Data {
    bool boolean;
    int64_t integer = 0;
    uint64_t unsigned_integer;
    double real;
    std::string* string;
    std::vector<Json>* array;
    Object* object;
  };

  explicit Json(Type container);
  const Json& child(size_t i) const;
  const Json* last_child() const;
  void drop_last_child();
  /// Becomes null. Frees what it owns without recursion.
  void clear() noexcept;
  void free_childless();
  void index_members(std::vector<uint32_t> by_name);
  void finish_object();

  Type type_ = Type::null;
  bool indexed_ = false;  // of an object: it is an IndexedObject
  Data value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

struct Json::Field {
  std::string_view name;
  mutable Json value;  // elements of an initializer list are const, and would have to be copied
};

class Json::Iterator {
 public:
  using difference_type = ptrdiff_t;
  using value_type = Json;
  Iterator() = default;
  Iterator(const Json* of, size_t at) : of_(of), at_(at) {}
  const Json& operator*() const { return of_->child(at_); }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  Iterator operator++(int) { return {of_, at_++}; }
  bool operator==(const Iterator&) const = default;

 private:
  const Json* of_ = nullptr;
  size_t at_ = 0;
};

inline Json::Iterator Json::begin() const { return {this, 0}; }
inline Json::Iterator Json::end() const { return {this, size()}; }

template <>
bool Json::get() const;
template <>
int64_t Json::get() const;
template <>
uint64_t Json::get() const;
template <>
double Json::get() const;
template <>
std::string Json::get() const;

/// Receives the events of a text while it is parsed, in the text's order, without a tree. An exception that
/// it throws ends the parsing.
class JsonListener {
 public:
  virtual ~JsonListener() = default;
  virtual void null() = 0;
  virtual void boolean(bool v) = 0;
  virtual void number_integer(int64_t v) = 0;  // negative
  virtual void number_unsigned(uint64_t v) = 0;
  virtual void number_float(double v, const std::string& text) = 0;
  virtual void string(const std::string& v) = 0;
  virtual void start_object() = 0;
  virtual void key(const std::string& name) = 0;
  virtual void end_object() = 0;
  virtual void start_array() = 0;
  virtual void end_array() = 0;
};

/// Parses a text and calls the listener for each event. Throws JsonFault.
void parse_json(std::string_view text, JsonListener& listener);

}  // namespace lathe
