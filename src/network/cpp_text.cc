#include "network/cpp_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>

namespace lathe::cpp_text {
namespace {

std::string escaped(std::string_view s) {
  constexpr char digits[] = "01234567";
  std::string r;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      r += '\\', r += c;
    } else if (u >= 0x20 && u < 0x7f && c != '?') {  // "??=" is a trigraph
      r += c;
    } else {
      r += '\\', r += digits[u >> 6], r += digits[(u >> 3) & 7], r += digits[u & 7];
    }
  }
  return r;
}

template <class F>
std::string decimal(F f) {
  char text[64];
  std::string s(text, std::to_chars(text, text + sizeof text, f).ptr);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

template <class T>
std::string element(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>)
    return "std::string(" + literal(x) + ", " + std::to_string(x.size()) + ")";
  else if constexpr (std::is_same_v<T, uint64_t>)
    return std::to_string(x) + "u";
  else if constexpr (std::is_integral_v<T>)
    return cpp_text::number(static_cast<int64_t>(x));
  else
    return cpp_text::number(x);
}

template <class List>
std::string list(const char* type, const List& items) {
  std::string s = std::string("std::vector<") + type + ">{";
  bool first = true;
  for (const auto& x : items) {
    s += (first ? "" : ", ") + element<std::decay_t<decltype(x)>>(x);
    first = false;
  }
  return s + "}";
}

std::string shape(const Shape& s) {
  std::string r = "lathe::Shape{";
  for (size_t i = 0; i < s.size(); ++i) r += (i ? ", " : "") + std::to_string(s[i]);
  return r + "}";
}

}  // namespace

const char* const helper =
    "  const auto from_bytes = [](lathe::DataType type, lathe::Shape shape, std::string_view bytes) {\n"
    "    lathe::Tensor t(type, std::move(shape));\n"
    "    std::memcpy(t.data(), bytes.data(), bytes.size());\n"
    "    return t;\n"
    "  };\n";

std::set<std::string> reserved() {
  std::istringstream words(
      "alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor "
      "bool break case catch char char8_t char16_t char32_t class compl concept const consteval "
      "constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
      "double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
      "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
      "public reflexpr register reinterpret_cast requires return short signed sizeof static "
      "static_assert static_cast struct switch synchronized template this thread_local throw true try "
      "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
      "assert errno i386 linux major minor stderr stdin stdout unix checkpoint from_bytes lathe n std "
      "weights");
  return {std::istream_iterator<std::string>(words), {}};
}

std::string literal(std::string_view s) { return "\"" + escaped(s) + "\""; }
std::string number(int64_t i) { return i == INT64_MIN ? "INT64_MIN" : std::to_string(i); }
std::string number(float f) {
  if (std::isfinite(f)) return decimal(f) + "f";
  return "std::bit_cast<float>(uint32_t{" + std::to_string(std::bit_cast<uint32_t>(f)) + "u})";
}
std::string number(double d) {
  if (std::isfinite(d)) return decimal(d);
  return "std::bit_cast<double>(uint64_t{" + std::to_string(std::bit_cast<uint64_t>(d)) + "u})";
}

std::string tensor(const Tensor& t, bool& uses_bytes) {
  auto typed = [&]<class T>(const char* name) {
    return std::string("lathe::Tensor::from<") + name + ">(" + shape(t.shape()) + ", " +
           list(name, t.as<T>()) + ")";
  };
  switch (t.type()) {
    case DataType::float32:
      return typed.operator()<float>("float");
    case DataType::float64:
      return typed.operator()<double>("double");
    case DataType::int8:
      return typed.operator()<int8_t>("int8_t");
    case DataType::uint8:
      return typed.operator()<uint8_t>("uint8_t");
    case DataType::int16:
      return typed.operator()<int16_t>("int16_t");
    case DataType::uint16:
      return typed.operator()<uint16_t>("uint16_t");
    case DataType::int32:
      return typed.operator()<int32_t>("int32_t");
    case DataType::uint32:
      return typed.operator()<uint32_t>("uint32_t");
    case DataType::int64:
      return typed.operator()<int64_t>("int64_t");
    case DataType::uint64:
      return typed.operator()<uint64_t>("uint64_t");
    case DataType::boolean:
      return typed.operator()<bool>("bool");
    case DataType::string:
      return typed.operator()<std::string>("std::string");
    default:
      break;
  }
  uses_bytes = true;
  const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
  return "from_bytes(static_cast<lathe::DataType>(" + std::to_string(static_cast<int>(t.type())) + "), " +
         shape(t.shape()) + ", std::string_view(" + literal(bytes) + ", " + std::to_string(bytes.size()) +
         "))";
}

std::string attribute(const AttributeValue& v, bool& uses_bytes) {
  return std::visit(
      [&]<class T>(const T& x) -> std::string {
        if constexpr (std::is_same_v<T, int64_t>)
          return "int64_t{" + number(x) + "}";
        else if constexpr (std::is_same_v<T, float>)
          return number(x);
        else if constexpr (std::is_same_v<T, std::string>)
          return element(x);
        else if constexpr (std::is_same_v<T, Tensor>)
          return tensor(x, uses_bytes);
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return list("int64_t", x);
        else if constexpr (std::is_same_v<T, std::vector<float>>)
          return list("float", x);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return list("std::string", x);
        else {
          std::string s = "std::vector<lathe::Tensor>{";
          for (size_t i = 0; i < x.size(); ++i) s += (i ? ", " : "") + tensor(x[i], uses_bytes);
          return s + "}";
        }
      },
      v);
}

}  // namespace lathe::cpp_text
