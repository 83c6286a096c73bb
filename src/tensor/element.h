// Element types in templates: named sets, dispatch over them, and how the narrow ones are read and written.
//
//   for_type(t.type(), real_types, [&]<class T> { … t.as<T>() … });      // T is the storage type
//   double x = Element<Float16>::load(bits);                             // arithmetic is done in Compute<T>
//
// A handful of compute types serve all: float for the floats up to 32 bits, double, int64_t and uint64_t for
// the integers, complex<double>. Data movement should dispatch on element *size* instead: see for_size().
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "lathe/error.h"
#include "lathe/tensor.h"

namespace lathe {

// Narrow floats, as bits in a byte.
struct Float8E4M3FN {
  uint8_t bits;
};
struct Float8E4M3FNUZ {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};
struct Float8E5M2FNUZ {
  uint8_t bits;
};
struct Float8E8M0 {
  uint8_t bits;
};
struct Float4E2M1 {
  uint8_t bits;
};
struct Float6E2M3 {
  uint8_t bits;
};
struct Float6E3M2 {
  uint8_t bits;
};
template <>
inline constexpr DataType type_of<Float8E4M3FN> = DataType::float8e4m3fn;
template <>
inline constexpr DataType type_of<Float8E4M3FNUZ> = DataType::float8e4m3fnuz;
template <>
inline constexpr DataType type_of<Float8E5M2> = DataType::float8e5m2;
template <>
inline constexpr DataType type_of<Float8E5M2FNUZ> = DataType::float8e5m2fnuz;
template <>
inline constexpr DataType type_of<Float8E8M0> = DataType::float8e8m0;
template <>
inline constexpr DataType type_of<Float4E2M1> = DataType::float4e2m1;
template <>
inline constexpr DataType type_of<Float6E2M3> = DataType::float6e2m3;
template <>
inline constexpr DataType type_of<Float6E3M2> = DataType::float6e3m2;

// Conversions by bits. All round to nearest even unless told otherwise; see narrow.cc.
float to_float(Float16 h);
float to_float(Float8E4M3FN x);
float to_float(Float8E4M3FNUZ x);
float to_float(Float8E5M2 x);
float to_float(Float8E5M2FNUZ x);
float to_float(Float8E8M0 x);
float to_float(Float4E2M1 x);
float to_float(Float6E2M3 x);
float to_float(Float6E3M2 x);
inline float to_float(BFloat16 b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

/// How a value that a narrow float cannot hold is stored: `saturate` clamps to the largest finite value, else
/// NaN/infinity as the tables of the Cast operator say. Types without infinity or NaN always saturate.
Float16 to_float16(float x);
Float16 to_float16(double x);
/// Rounds to nearest, ties to even; all NaN become the same one.
inline BFloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t nan = (bits >> 16 & 0x8000U) | 0x7fc0U, rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded)};
}
Float8E4M3FN to_float8e4m3fn(float x, bool saturate = true);
Float8E4M3FNUZ to_float8e4m3fnuz(float x, bool saturate = true);
Float8E5M2 to_float8e5m2(float x, bool saturate = true);
Float8E5M2FNUZ to_float8e5m2fnuz(float x, bool saturate = true);
enum class Round8 : uint8_t { up, down, nearest };
Float8E8M0 to_float8e8m0(float x, bool saturate = true, Round8 round = Round8::up);
Float4E2M1 to_float4e2m1(float x);
Float6E2M3 to_float6e2m3(float x);
Float6E3M2 to_float6e3m2(float x);

/// The arithmetic type of a storage type, and the way between them.
template <class T>
struct Element {
  using Compute = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
#define LATHE_NARROW(Type, to_narrow)                   \
  template <>                                           \
  struct Element<Type> {                                \
    using Compute = float;                              \
    static float load(Type x) { return to_float(x); }   \
    static Type store(float x) { return to_narrow(x); } \
  };
LATHE_NARROW(Float16, to_float16)
LATHE_NARROW(BFloat16, to_bfloat16)
LATHE_NARROW(Float8E4M3FN, to_float8e4m3fn)
LATHE_NARROW(Float8E4M3FNUZ, to_float8e4m3fnuz)
LATHE_NARROW(Float8E5M2, to_float8e5m2)
LATHE_NARROW(Float8E5M2FNUZ, to_float8e5m2fnuz)
LATHE_NARROW(Float8E8M0, to_float8e8m0)
LATHE_NARROW(Float4E2M1, to_float4e2m1)
LATHE_NARROW(Float6E2M3, to_float6e2m3)
LATHE_NARROW(Float6E3M2, to_float6e3m2)
#undef LATHE_NARROW
template <class T>
using Compute = typename Element<T>::Compute;

// Named sets of storage types (whole bytes; the packed sub-byte types are unpacked first, see widened()).
template <class... T>
struct Types {};
inline constexpr Types<float, double, Float16, BFloat16> float_types;
inline constexpr Types<int8_t, int16_t, int32_t, int64_t> signed_types;
inline constexpr Types<uint8_t, uint16_t, uint32_t, uint64_t> unsigned_types;
inline constexpr Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>
    integer_types;
inline constexpr Types<int32_t, int64_t> index_types;
/// Everything that has an order and arithmetic: floats and integers.
inline constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t>
    number_types;
inline constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t, bool>
    number_and_bool_types;

/// Calls f.template operator()<T>() for the T of the set that `type` names; an error of the model's
/// otherwise.
template <class... T, class F>
decltype(auto) for_type(DataType type, Types<T...>, F&& f) {
  using R = decltype(std::forward<F>(f).template operator()<float>());
  bool found = false;
  if constexpr (std::is_void_v<R>) {
    (void)((type == type_of<T> ? (found = true, f.template operator()<T>(), true) : false) || ...);
    if (!found)
      throw Error(Code::node_bad_type, "run", "an element type this kernel computes",
                  std::string(name_of(type)));
  } else {
    std::optional<R> r;
    (void)((type == type_of<T> ? (found = true, r.emplace(f.template operator()<T>()), true) : false) || ...);
    if (!found)
      throw Error(Code::node_bad_type, "run", "an element type this kernel computes",
                  std::string(name_of(type)));
    return R(*std::move(r));  // not the reference into r that decltype(auto) would deduce
  }
}

/// For data movement: a type of the same size as one element (std::string for strings; sub-byte types must be
/// widened first).
struct Bits128 {
  uint64_t part[2];
};
template <class F>
void for_size(DataType type, F&& f) {
  if (type == DataType::string) return f.template operator()<std::string>();
  switch (bits_of(type)) {
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    case 128:
      return f.template operator()<Bits128>();
    default:
      throw Error(Code::node_bad_type, "run", "an element of whole bytes", std::string(name_of(type)));
  }
}

inline bool is_packed(DataType t) { return bits_of(t) == 2 || bits_of(t) == 4; }
/// Sub-byte elements one per byte: integers as int8/uint8 values (sign extended), float4e2m1 as its code in a
/// byte. The element type of the result is int8, uint8, or (for float4e2m1) uint8.
Tensor widened(const Tensor& packed);
/// The way back: stores bytes as elements of `type` into `out` (already of that type and shape). Values are
/// truncated to their bits.
void narrow_into(const Tensor& bytes, Tensor& out);

/// Any numeric element (floats, integers, bool, narrow and packed ones) as double or int64, aligned or not,
/// for code that need not be fast.
double load_double(const Tensor& t, int64_t i);
int64_t load_int(const Tensor& t, int64_t i);
void store_double(Tensor& t, int64_t i, double v);
void store_int(Tensor& t, int64_t i, int64_t v);
/// Returns all elements of an integer (or bool) tensor.
std::vector<int64_t> to_ints(const Tensor& t);

}  // namespace lathe
