// Values of GGUF's metadata, decoded from the bytes of the file.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <utility>

#include "base/error_about.h"
#include "io/gguf.h"
#include "io/gguf_cursor.h"

namespace lathe {
namespace {

std::string described(const GgufValue& v) {
  const std::string type(name_of(v.element_type()));
  return v.type() == GgufValueType::array ? "an array of " + std::to_string(v.size()) + " " + type : type;
}

Error bad_value(const std::string& key, std::string expected, std::string got) {
  return error_about_gguf(Code::bad_argument, key, std::move(expected), std::move(got));
}

/// Calls f with the C++ type of a number or boolean; booleans are bytes.
template <class F>
decltype(auto) for_number(GgufValueType type, F&& f) {
  switch (type) {
    case GgufValueType::int8:
      return f.template operator()<int8_t>();
    case GgufValueType::uint16:
      return f.template operator()<uint16_t>();
    case GgufValueType::int16:
      return f.template operator()<int16_t>();
    case GgufValueType::uint32:
      return f.template operator()<uint32_t>();
    case GgufValueType::int32:
      return f.template operator()<int32_t>();
    case GgufValueType::float32:
      return f.template operator()<float>();
    case GgufValueType::uint64:
      return f.template operator()<uint64_t>();
    case GgufValueType::int64:
      return f.template operator()<int64_t>();
    case GgufValueType::float64:
      return f.template operator()<double>();
    default:
      return f.template operator()<uint8_t>();
  }
}

bool is_real(GgufValueType t) { return t == GgufValueType::float32 || t == GgufValueType::float64; }

/// Returns whether numbers of the type may become a T at all.
template <class T>
bool becomes(GgufValueType type) {
  if constexpr (std::same_as<T, std::string>) return type == GgufValueType::string;
  if constexpr (std::same_as<T, bool>) return type == GgufValueType::boolean;
  if (gguf_width(type) == 0 || type == GgufValueType::boolean) return false;
  return std::same_as<T, double> || !is_real(type);
}

template <class T>
constexpr std::string_view wanted_name() {
  if (std::same_as<T, std::string>) return "string";
  if (std::same_as<T, bool>) return "bool";
  if (std::same_as<T, double>) return "number";
  return "integer";
}

template <class T>
T next(GgufCursor& from, GgufValueType type, const std::string& key) {
  const auto changed = [&] {
    return error_about_gguf(Code::wire_malformed, key, "the file as it was opened",
                            "a file that was changed since");
  };
  if constexpr (std::same_as<T, std::string>) {
    const auto s = from.string();
    if (!s) throw changed();
    return std::string(*s);
  } else {
    return for_number(type, [&]<class Stored>() -> T {
      const auto v = from.number<Stored>();
      if (!v) throw changed();
      if constexpr (std::same_as<T, bool>) {
        return *v != 0;
      } else if constexpr (std::same_as<T, double>) {
        return static_cast<double>(*v);
      } else if constexpr (std::integral<Stored>) {
        if (!std::in_range<T>(*v))
          throw bad_value(
              key, std::signed_integral<T> ? "an integer that fits int64" : "an integer that is not negative",
              std::to_string(*v));
        return static_cast<T>(*v);
      } else {
        throw bad_value(key, "an integer", "a number with a fraction");
      }
    });
  }
}

template <class T>
T single(const GgufValue& v, std::string_view bytes, const std::string& key) {
  if (v.type() == GgufValueType::array || !becomes<T>(v.type()))
    throw bad_value(key, "a value of type " + std::string(wanted_name<T>()), described(v));
  GgufCursor from(bytes);
  return next<T>(from, v.element_type(), key);
}

template <class T>
std::vector<T> all_of(const GgufValue& v, std::string_view bytes, const std::string& key) {
  if (v.type() != GgufValueType::array || !becomes<T>(v.element_type()))
    throw bad_value(key, "an array of type " + std::string(wanted_name<T>()), described(v));
  GgufCursor from(bytes);
  std::vector<T> all;
  all.reserve(v.size());
  for (uint64_t i = 0; i < v.size(); ++i) all.push_back(next<T>(from, v.element_type(), key));
  return all;
}

std::string element_text(GgufCursor& from, GgufValueType type, bool quoted, const std::string& key) {
  if (type == GgufValueType::string) {
    auto s = next<std::string>(from, type, key);
    return quoted ? "'" + s + "'" : s;
  }
  if (type == GgufValueType::boolean) return next<bool>(from, type, key) ? "true" : "false";
  return for_number(type, [&]<class Stored>() -> std::string {
    const Stored v = from.number<Stored>().value_or(Stored{});
    char digits[64];
    if constexpr (std::floating_point<Stored>) {
      if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
      return {digits, std::to_chars(digits, digits + sizeof digits, v).ptr};
    } else {
      return std::to_string(v);
    }
  });
}

DataType tensor_type(GgufValueType type) {
  if (type == GgufValueType::boolean) return DataType::boolean;
  return for_number(type, []<class Stored>() { return type_of<Stored>; });
}

}  // namespace

std::string_view name_of(GgufValueType t) {
  switch (t) {
    case GgufValueType::uint8:
      return "uint8";
    case GgufValueType::int8:
      return "int8";
    case GgufValueType::uint16:
      return "uint16";
    case GgufValueType::int16:
      return "int16";
    case GgufValueType::uint32:
      return "uint32";
    case GgufValueType::int32:
      return "int32";
    case GgufValueType::float32:
      return "float32";
    case GgufValueType::boolean:
      return "bool";
    case GgufValueType::string:
      return "string";
    case GgufValueType::array:
      return "array";
    case GgufValueType::uint64:
      return "uint64";
    case GgufValueType::int64:
      return "int64";
    case GgufValueType::float64:
      return "float64";
  }
  return "unknown";
}

Error error_about_gguf(Code code, const std::string& key, std::string expected, std::string got) {
  return error_about(code, "GGUF", in_quotes(key), std::move(expected), std::move(got));
}

template <>
bool GgufValue::get() const {
  return single<bool>(*this, bytes_, key_);
}
template <>
int64_t GgufValue::get() const {
  return single<int64_t>(*this, bytes_, key_);
}
template <>
uint64_t GgufValue::get() const {
  return single<uint64_t>(*this, bytes_, key_);
}
template <>
double GgufValue::get() const {
  return single<double>(*this, bytes_, key_);
}
template <>
std::string GgufValue::get() const {
  return single<std::string>(*this, bytes_, key_);
}
template <>
std::vector<bool> GgufValue::get() const {
  return all_of<bool>(*this, bytes_, key_);
}
template <>
std::vector<int64_t> GgufValue::get() const {
  return all_of<int64_t>(*this, bytes_, key_);
}
template <>
std::vector<uint64_t> GgufValue::get() const {
  return all_of<uint64_t>(*this, bytes_, key_);
}
template <>
std::vector<double> GgufValue::get() const {
  return all_of<double>(*this, bytes_, key_);
}
template <>
std::vector<std::string> GgufValue::get() const {
  return all_of<std::string>(*this, bytes_, key_);
}

Tensor GgufValue::tensor() const {
  if (type_ == GgufValueType::string) throw bad_value(key_, "numbers or booleans", described(*this));
  Tensor t(tensor_type(type_), is_array_ ? Shape{static_cast<int64_t>(count_)} : Shape{});
  if (!bytes_.empty()) std::memcpy(t.data(), bytes_.data(), bytes_.size());
  if (type_ != GgufValueType::boolean) return t;
  // They were verified, but a mapped file may have changed since.
  auto* byte = static_cast<unsigned char*>(t.data());
  for (uint64_t i = 0; i < count_; ++i) byte[i] = byte[i] != 0;
  return t;
}

std::string GgufValue::text(uint64_t most) const {
  GgufCursor from(bytes_);
  if (!is_array_) return element_text(from, type_, false, key_);
  std::string all = "[";
  for (uint64_t i = 0; i < std::min(count_, most); ++i)
    all += (i ? ", " : "") + element_text(from, type_, true, key_);
  if (count_ > most) all += (most ? ", … " : "… ") + std::to_string(count_) + " in all";
  return all + "]";
}

}  // namespace lathe
