// Attributes of a node, by name; and the one visitor that turns them into an operator's plain struct and
// back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lathe/error.h"
#include "lathe/tensor.h"

namespace lathe {

/// All attribute kinds but graphs (those are a node's bodies), sparse tensors (turned into dense constants at
/// import) and types (written as text: "seq(tensor(float))[N,3]").
using AttributeValue = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>, std::vector<Tensor>>;

/// "int", "ints", "tensor", …
std::string_view kind_of(const AttributeValue& v);

/// A small map in the order of insertion.
class Attributes {
 public:
  struct Entry {
    std::string name;
    AttributeValue value;
  };
  const AttributeValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string name, AttributeValue v);
  bool erase(std::string_view name);
  bool rename(std::string_view from, std::string to);
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  /// The value of that name and kind, or `fallback`.
  template <class T>
  T get(std::string_view name, T fallback) const {
    const AttributeValue* v = find(name);
    if (!v) return fallback;
    const T* p = std::get_if<T>(v);
    return p ? *p : fallback;
  }
  template <class T>
  const T* get_if(std::string_view name) const {
    const AttributeValue* v = find(name);
    return v ? std::get_if<T>(v) : nullptr;
  }

 private:
  std::vector<Entry> entries_;
};

/// Attributes of one entry, to which others may be added.
inline Attributes with(std::string name, AttributeValue v) {
  Attributes a;
  a.set(std::move(name), std::move(v));
  return a;
}

/// Throws node_bad_attribute: "attribute 'axis' of kind int" expected, and the kind that it has.
[[noreturn]] void bad_attribute(std::string_view name, std::string_view expected, const AttributeValue& got);

/// Reads attributes into an operator struct: `op.fields(AttributeReader{attrs})`. Absent ones keep their
/// default. Supported members: int64_t, bool (an int), float, std::string, Tensor, vectors of
/// int64_t/float/string/Tensor, and std::optional of each.
struct AttributeReader {
  const Attributes& from;

  template <class T>
  void operator()(std::string_view name, T& field) const {
    if (const AttributeValue* v = from.find(name)) read(name, *v, field);
  }

 private:
  template <class T>
  static void read(std::string_view name, const AttributeValue& v, std::optional<T>& field) {
    T x{};
    read(name, v, x);
    field = std::move(x);
  }
  static void read(std::string_view name, const AttributeValue& v, bool& field) {
    int64_t x = 0;
    read(name, v, x);
    field = x != 0;
  }
  template <class T>
  static void read(std::string_view name, const AttributeValue& v, T& field) {
    if (const T* p = std::get_if<T>(&v))
      field = *p;
    else
      bad_attribute(name, kind_of(AttributeValue(T{})), v);
  }
};

/// Decodes an operator struct: anything with `void fields(auto&& f) { f("axis", axis); … }`.
template <class Op>
Op decode(const Attributes& a) {
  Op op;
  op.fields(AttributeReader{a});
  return op;
}

}  // namespace lathe
