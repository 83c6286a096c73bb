// Symbolic dimensions as text.
#include <charconv>

#include "base/dim_terms.h"
#include "lathe/error.h"

namespace lathe {
namespace {

using Kind = DimAtom::Kind;

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.'; }

bool is_plain_name(std::string_view s) {
  if (s.empty() || !(starts_name(s[0]) || (s[0] == '?' && s.size() > 1))) return false;
  for (char c : s.substr(1))
    if (!continues_name(c)) return false;
  return true;
}

std::string quoted(std::string_view s) {
  std::string t = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') t += '\\';
    t += c;
  }
  return t + '"';
}

std::string_view function_name(Kind k) {
  switch (k) {
    case Kind::floor:
      return "floor";
    case Kind::min:
      return "min";
    case Kind::max:
      return "max";
    case Kind::broadcast:
      return "broadcast";
    case Kind::symbol:
      break;
  }
  return "";
}

bool is_sum(const Dim& d) {
  return d.terms() && (d.terms()->monomials.size() > 1 || DimAccess::constant_part(d) != 0);
}
bool is_single(const Dim& d) {
  return d.is_constant() ? d.constant() >= 0 : DimAccess::as_atom(d) != nullptr;
}

std::string atom_text(const DimAtom& a) {
  if (a.kind == Kind::symbol) return is_plain_name(a.name) ? a.name : quoted(a.name);
  std::string t(function_name(a.kind));
  t += '(';
  if (a.kind == Kind::floor) {
    const std::string top = a.args[0].str(), bottom = a.args[1].str();
    t += is_sum(a.args[0]) ? "(" + top + ")" : top;
    t += '/';
    t += is_single(a.args[1]) ? bottom : "(" + bottom + ")";
  } else {
    for (size_t i = 0; i < a.args.size(); ++i) t += (i ? ", " : "") + a.args[i].str();
  }
  return t + ')';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Dim all() {
    Dim d = sum();
    space();
    if (at_ != text_.size()) fail("the end of the expression");
    return d;
  }

 private:
  static constexpr int max_depth = 64;

  [[noreturn]] void fail(std::string_view expected) const {
    throw Error(Code::text_syntax, "parse", std::string(expected),
                "\"" + std::string(text_.substr(at_, 20)) + "\" at character " + std::to_string(at_) +
                    " of dimension \"" + std::string(text_.substr(0, 80)) + "\"",
                "write it as in 4*batch, past + seq, floor((n + 1)/2)");
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }

  Dim sum() {
    if (++depth_ > max_depth) fail("at most 64 nested parentheses");
    Dim d = term();
    for (;;) {
      if (take('+'))
        d = d + term();
      else if (take('-'))
        d = d - term();
      else
        break;
    }
    --depth_;
    return d;
  }
  Dim term() {
    Dim d = single();
    while (take('*')) d = d * single();
    return d;
  }
  Dim single() {
    bool negative = false;
    while (take('-')) negative = !negative;
    Dim d = operand();
    return negative ? -d : d;
  }
  Dim operand() {
    if (take('(')) {
      Dim d = sum();
      need(')');
      return d;
    }
    space();
    if (at_ == text_.size()) fail("a number, a name or '('");
    const char c = text_[at_];
    if (c >= '0' && c <= '9') return number();
    if (c == '"') return Dim::symbol(quoted_name());
    if (c != '?' && !starts_name(c)) fail("a number, a name or '('");
    const size_t from = at_++;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    if (name == "?") return Dim::unknown();
    return take('(') ? call(name) : Dim::symbol(name);
  }
  Dim number() {
    int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc()) fail("a number of at most 63 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  std::string quoted_name() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_];
    }
    need('"');
    return name;
  }
  Dim call(std::string_view name) {
    if (name == "floor" || name == "ceil") {
      const Dim top = term();
      need('/');
      const Dim bottom = single();
      need(')');
      return name == "floor" ? floor_div(top, bottom) : ceil_div(top, bottom);
    }
    if (name != "min" && name != "max" && name != "broadcast" && name != "mod") {
      at_ -= 1;
      fail("floor, ceil, mod, min, max or broadcast before '('");
    }
    Dim d = sum();
    while (take(',')) {
      const Dim x = sum();
      if (name == "min")
        d = min(d, x);
      else if (name == "max")
        d = max(d, x);
      else if (name == "mod")
        d = mod(d, x);
      else if (auto b = broadcast(d, x))
        d = *b;
      else
        fail("sizes that broadcast");
    }
    need(')');
    return d;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Dim::str() const {
  if (is_constant()) return std::to_string(constant_);
  std::string t;
  auto sign = [&t](bool negative) { t += t.empty() ? (negative ? "-" : "") : (negative ? " - " : " + "); };
  // INT64_MIN has no magnitude of its own type.
  auto magnitude = [](int64_t v) {
    return std::to_string(v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
  };
  for (const DimMonomial& m : terms_->monomials) {
    sign(m.coefficient < 0);
    bool first = true;
    if (m.coefficient != 1 && m.coefficient != -1) {
      t += magnitude(m.coefficient);
      first = false;
    }
    for (const auto& f : m.factors)
      for (int32_t i = 0; i < f.power; ++i, first = false) t += (first ? "" : "*") + atom_text(*f.atom);
  }
  if (constant_) {
    sign(constant_ < 0);
    t += magnitude(constant_);
  }
  return t;
}

Dim Dim::parse(std::string_view text) { return Parser(text).all(); }

std::string describe(const SymShape& s) {
  std::string t = "[";
  for (size_t i = 0; i < s.size(); ++i) t += (i ? ", " : "") + s[i].str();
  return t + "]";
}

}  // namespace lathe
