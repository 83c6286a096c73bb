#include "graph/type.h"

#include "lathe/error.h"

namespace lathe {
namespace {

using Kind = ValueType::Kind;

void append_shape(std::string& t, const SymShape& s) {
  t += '[';
  for (size_t i = 0; i < s.size(); ++i) {
    if (i) t += ',';
    t += s[i].str();
  }
  t += ']';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ValueType all() {
    ValueType t = type(0);
    if (at_ != text_.size()) fail("the end of the type");
    return t;
  }

 private:
  static constexpr int max_depth = 64;

  [[noreturn]] void fail(std::string_view expected) const {
    throw Error(Code::text_syntax, "parse", std::string(expected),
                "\"" + std::string(text_.substr(at_, 20)) + "\" at character " + std::to_string(at_) +
                    " of type \"" + std::string(text_.substr(0, 80)) + "\"",
                "write it as in float[N,3], seq(float), map(string,float)");
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view s) {
    space();
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    space();
    return true;
  }
  void need(std::string_view s) {
    if (!take(s)) fail("'" + std::string(s) + "'");
  }
  DataType element() {
    space();
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      ++end;
    const auto t = data_type_from(text_.substr(at_, end - at_));
    if (!t || *t == DataType::undefined) fail("an element type");
    at_ = end;
    space();
    return *t;
  }

  ValueType type(int depth) {
    if (depth > max_depth) fail("at most 64 nested types");
    if (take("none")) return {};
    if (take("seq(")) {
      ValueType inner = type(depth + 1);
      need(")");
      return ValueType::sequence(std::move(inner));
    }
    if (take("optional(")) {
      ValueType inner = type(depth + 1);
      need(")");
      return ValueType::optional(std::move(inner));
    }
    if (take("map(")) {
      const DataType key = element();
      need(",");
      ValueType value = type(depth + 1);
      need(")");
      return ValueType::map(key, std::move(value));
    }
    // ONNX's own spelling, tensor(float), means the same.
    for (const auto& [word, kind] : {std::pair{"sparse(", Kind::sparse}, std::pair{"tensor(", Kind::tensor}})
      if (take(word)) {
        ValueType t = ValueType::tensor(element());
        t.kind = kind;
        need(")");
        t.shape = shape();
        return t;
      }
    ValueType t = ValueType::tensor(element());
    t.shape = shape();
    return t;
  }

  std::optional<SymShape> shape() {
    if (!take("[")) return std::nullopt;
    SymShape s;
    if (take("]")) return s;
    for (;;) {
      const size_t end = end_of_dimension();
      s.push_back(Dim::parse(text_.substr(at_, end - at_)));
      at_ = end;
      if (take("]")) return s;
      need(",");
    }
  }
  /// Commas inside max(a, b) and inside quotes do not end a dimension.
  size_t end_of_dimension() const {
    int depth = 0;
    bool quoted = false;
    size_t i = at_;
    for (; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted && c == '\\')
        ++i;
      else if (c == '"')
        quoted = !quoted;
      else if (quoted)
        continue;
      else if (c == '(')
        ++depth;
      else if (c == ')')
        --depth;
      else if (depth == 0 && (c == ',' || c == ']'))
        break;
    }
    return std::min(i, text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<Dim> unify(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a == b ? std::optional(a) : std::nullopt;
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return a.has_unknown() && !b.has_unknown() ? b : a;
}

/// The common part of unify and join: kinds, element types and inner types must agree; `shapes` combines the
/// shapes.
template <class Inner, class Shapes>
std::optional<ValueType> combine(const ValueType& a, const ValueType& b, Inner inner, Shapes shapes) {
  if (a.kind != b.kind) return std::nullopt;
  if (a.elem != b.elem && a.elem != DataType::undefined && b.elem != DataType::undefined) return std::nullopt;
  ValueType r;
  r.kind = a.kind;
  r.elem = a.elem != DataType::undefined ? a.elem : b.elem;
  if (!shapes(r.shape)) return std::nullopt;
  if (a.inner && b.inner) {
    auto both = inner(*a.inner, *b.inner);
    if (!both) return std::nullopt;
    r.inner = std::make_shared<const ValueType>(std::move(*both));
  } else {
    r.inner = a.inner ? a.inner : b.inner;
  }
  return r;
}

}  // namespace

std::string ValueType::str(bool with_shape) const {
  const std::string element = elem == DataType::undefined ? "?" : std::string(onnx_name_of(elem));
  const std::string of = inner ? inner->str(with_shape) : "none";
  std::string t;
  switch (kind) {
    case Kind::none:
      return "none";
    case Kind::tensor:
      t = element;
      break;
    case Kind::sparse:
      t = "sparse(" + element + ")";
      break;
    case Kind::sequence:
      return "seq(" + of + ")";
    case Kind::optional:
      return "optional(" + of + ")";
    case Kind::map:
      return "map(" + element + "," + of + ")";
  }
  if (with_shape && shape) append_shape(t, *shape);
  return t;
}

ValueType ValueType::parse(std::string_view text) { return Parser(text).all(); }

bool operator==(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind || a.elem != b.elem || a.shape != b.shape) return false;
  if (!a.inner || !b.inner) return a.inner == b.inner;
  return *a.inner == *b.inner;
}

std::optional<ValueType> unify(const ValueType& a, const ValueType& b) {
  if (!a.known()) return b;
  if (!b.known()) return a;
  return combine(
      a, b, [](const ValueType& x, const ValueType& y) { return unify(x, y); },
      [&](std::optional<SymShape>& r) {
        if (!a.shape || !b.shape) {
          r = a.shape ? a.shape : b.shape;
          return true;
        }
        if (a.shape->size() != b.shape->size()) return false;
        r.emplace();
        for (size_t i = 0; i < a.shape->size(); ++i) {
          auto d = unify((*a.shape)[i], (*b.shape)[i]);
          if (!d) return false;
          r->push_back(std::move(*d));
        }
        return true;
      });
}

std::optional<ValueType> join(const ValueType& a, const ValueType& b) {
  if (!a.known() || !b.known()) return ValueType{};
  return combine(
      a, b, [](const ValueType& x, const ValueType& y) { return join(x, y); },
      [&](std::optional<SymShape>& r) {
        if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return true;
        r.emplace();
        for (size_t i = 0; i < a.shape->size(); ++i)
          r->push_back((*a.shape)[i] == (*b.shape)[i] ? (*a.shape)[i] : Dim::unknown());
        return true;
      });
}

}  // namespace lathe
