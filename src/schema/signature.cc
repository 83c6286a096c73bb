// The signature language: one line says what a version of an operator takes and gives.
#include <array>
#include <charconv>
#include <mutex>

#include "schema/schema.h"

namespace lathe {
namespace {

struct NamedSet {
  std::string_view name, types;
};

// The sets of types that the standard repeats, by the IR version that widened them.
constexpr std::array type_sets = {
    NamedSet{"float", "float16 float double"},
    NamedSet{"float_13", "float16 float double bfloat16"},
    NamedSet{"all",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128"},
    NamedSet{"all_13",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16"},
    NamedSet{"all_ir9",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"},
    NamedSet{"all_ir10",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4"},
    NamedSet{
        "all_ir11",
        "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
        "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 float4e2m1"},
    NamedSet{"all_ir12",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 "
             "float4e2m1 float8e8m0"},
    NamedSet{"all_ir13",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 "
             "float4e2m1 float8e8m0 int2 uint2"},
    NamedSet{"all_ir14",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
             "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 "
             "float4e2m1 float8e8m0 int2 uint2 float6e2m3 float6e3m2"},
    NamedSet{"number", "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64"},
    NamedSet{"number_13", "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16"},
    NamedSet{"wide", "float16 float double int32 int64 uint32 uint64"},
    NamedSet{"wide_13", "float16 float double bfloat16 int32 int64 uint32 uint64"},
    NamedSet{"index", "int32 int64"},
    NamedSet{"integer", "int8 int16 int32 int64 uint8 uint16 uint32 uint64"},
    NamedSet{"plain", "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"},
    NamedSet{"plain_13",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool bfloat16"},
    NamedSet{"real_ir9",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
             "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"},
    NamedSet{"real_ir10",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
             "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4"},
    NamedSet{"real_ir11",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
             "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 float4e2m1"},
    NamedSet{"real_ir12",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
             "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 float4e2m1 float8e8m0"},
    NamedSet{
        "real_ir13",
        "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
        "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 float4e2m1 float8e8m0 int2 uint2"},
    NamedSet{"real_ir14",
             "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string bfloat16 "
             "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz int4 uint4 float4e2m1 float8e8m0 int2 "
             "uint2 float6e2m3 float6e3m2"},
};

[[noreturn]] void wrong(std::string_view text, size_t at, std::string_view expected) {
  throw Error(Code::internal, "declare", std::string(expected) + " in an operator's signature",
              std::string(text.substr(0, at)) + "»" + std::string(text.substr(at)));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(text_, at_, std::string("'") + c + "'");
  }
  bool peek(char c) {
    space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool done() {
    space();
    return at_ >= text_.size();
  }
  /// Letters, digits, underscores.
  std::string word() {
    space();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (at_ == from) wrong(text_, at_, "a word");
    return std::string(text_.substr(from, at_ - from));
  }
  /// A type with its parentheses: "optional(seq(float))", "@all", "map(string,float)".
  std::string type() {
    space();
    const size_t from = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(')
        ++depth;
      else if (c == ')' && depth > 0)
        --depth;
      else if (depth == 0 && !(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '@'))
        break;
    }
    if (at_ == from) wrong(text_, at_, "a type");
    return std::string(text_.substr(from, at_ - from));
  }
  void arrow() {
    expect('-');
    expect('>');
  }
  std::optional<size_t> count() {
    const size_t from = at_;
    size_t n = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      n = n * 10 + static_cast<size_t>(text_[at_++] - '0');
    return at_ == from ? std::nullopt : std::optional(n);
  }
  std::string quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) wrong(text_, at_, "a closing quote");
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  double number() {
    space();
    const size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view("+-.0123456789eE").find(text_[at_]) != std::string_view::npos)
      ++at_;
    if (from == at_) wrong(text_, at_, "a number");
    return std::strtod(std::string(text_.substr(from, at_ - from)).c_str(), nullptr);
  }
  int64_t integer() {
    space();
    int64_t v = 0;
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (r.ec != std::errc()) wrong(text_, at_, "an integer");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return v;
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

std::vector<Parameter> parameters(Reader& r, size_t& least, size_t& most) {
  std::vector<Parameter> list;
  least = most = 0;
  r.expect('(');
  while (!r.take(')')) {
    Parameter p;
    p.name = r.word();
    if (r.take('?'))
      p.arity = Parameter::Arity::optional;
    else if (r.take('*'))
      p.arity = Parameter::Arity::variadic;
    else if (r.take('~'))
      p.arity = Parameter::Arity::heterogeneous;
    const bool variadic = p.arity == Parameter::Arity::variadic || p.arity == Parameter::Arity::heterogeneous;
    if (variadic) {
      least = most + r.count().value_or(1);
      most = SIZE_MAX;
    } else {
      ++most;
      if (p.arity == Parameter::Arity::required) least = most;
    }
    r.expect(':');
    p.type = r.type();
    list.push_back(std::move(p));
    if (!r.peek(')')) r.expect(',');
  }
  return list;
}

AttributeValue default_value(Reader& r, std::string_view kind) {
  if (kind == "int") return r.integer();
  if (kind == "float") return static_cast<float>(r.number());
  if (kind == "string") return r.quoted();
  r.expect('[');
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  while (!r.take(']')) {
    if (kind == "ints")
      ints.push_back(r.integer());
    else if (kind == "floats")
      floats.push_back(static_cast<float>(r.number()));
    else
      strings.push_back(r.quoted());
    if (!r.peek(']')) r.expect(',');
  }
  if (kind == "ints") return ints;
  if (kind == "floats") return floats;
  return strings;
}

std::vector<AttributeDecl> attributes(Reader& r) {
  std::vector<AttributeDecl> list;
  if (!r.take('{')) return list;
  while (!r.take('}')) {
    AttributeDecl a;
    a.name = r.word();
    r.expect(':');
    a.kind = r.word();
    a.required = r.take('!');
    if (r.take('=')) a.fallback = default_value(r, a.kind);
    list.push_back(std::move(a));
    if (!r.peek('}')) r.expect(',');
  }
  return list;
}

std::string_view set_named(std::string_view name) {
  for (const NamedSet& s : type_sets)
    if (s.name == name) return s.types;
  throw Error(Code::internal, "declare", "a named set of types", "@" + std::string(name));
}

/// "seq(@all)" becomes seq(float), seq(double), …
void expand(const std::string& type, std::vector<std::string>& into) {
  const size_t at = type.find('@');
  if (at == std::string::npos) {
    into.push_back(type);
    return;
  }
  size_t end = at + 1;
  while (end < type.size() && (std::isalnum(static_cast<unsigned char>(type[end])) || type[end] == '_'))
    ++end;
  std::string_view members = set_named(std::string_view(type).substr(at + 1, end - at - 1));
  while (!members.empty()) {
    const size_t stop = std::min(members.find(' '), members.size());
    into.push_back(type.substr(0, at) + std::string(members.substr(0, stop)) + type.substr(end));
    members.remove_prefix(std::min(stop + 1, members.size()));
  }
}

std::vector<TypeVariable> variables(Reader& r) {
  std::vector<TypeVariable> list;
  if (!r.take('[')) return list;
  while (!r.take(']')) {
    TypeVariable v;
    v.name = r.word();
    r.expect(':');
    while (!r.peek(';') && !r.peek(']')) expand(r.type(), v.types);
    r.take(';');
    list.push_back(std::move(v));
  }
  return list;
}

}  // namespace

bool TypeVariable::allows(const ValueType& t) const {
  const std::string text = t.str(false);
  for (const std::string& s : types)
    if (s == text) return true;
  return false;
}

const TypeVariable* Signature::variable(std::string_view name) const {
  for (const TypeVariable& v : variables)
    if (v.name == name) return &v;
  return nullptr;
}

const AttributeDecl* Signature::attribute(std::string_view name) const {
  for (const AttributeDecl& a : attributes)
    if (a.name == name) return &a;
  return nullptr;
}

Signature Signature::parse(std::string_view text) {
  Reader r(text);
  Signature s;
  s.inputs = parameters(r, s.min_inputs, s.max_inputs);
  r.arrow();
  s.outputs = parameters(r, s.min_outputs, s.max_outputs);
  s.attributes = lathe::attributes(r);
  s.variables = lathe::variables(r);
  if (!r.done()) wrong(text, text.size(), "the end");
  return s;
}

struct LazySignature {
  std::once_flag once;
  Signature parsed;
};

const Signature& Version::signature() const {
  std::call_once(lazy_->once, [&] { lazy_->parsed = Signature::parse(text); });
  return lazy_->parsed;
}

OpSchema& OpSchema::version(int since, std::string_view signature, Upgrade from_previous,
                            Downgrade into_previous) {
  Version v;
  v.since = since;
  v.text = signature;
  v.from_previous = from_previous;
  v.into_previous = into_previous;
  v.lazy_ = std::make_shared<LazySignature>();
  versions_.push_back(std::move(v));
  return *this;
}

OpSchema& OpSchema::deprecated(int since, Upgrade into) {
  version(since, versions_.empty() ? std::string_view("() -> ()") : versions_.back().text, into,
          [](RewriteContext&) { return true; });
  versions_.back().deprecated = true;
  return *this;
}

const Version* OpSchema::at(int opset) const {
  const Version* found = nullptr;
  for (const Version& v : versions_)
    if (v.since <= opset) found = &v;
  return found;
}

}  // namespace lathe
