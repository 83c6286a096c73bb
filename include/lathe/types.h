// Element types. The numbers are those of TensorProto.DataType, so that the file and the memory agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lathe/export.h"

namespace lathe {

/// An element type. The numbers are those of TensorProto.DataType of the ONNX standard.
enum class DataType : uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
  float6e2m3 = 27,
  float6e3m2 = 28,
};
inline constexpr int data_type_count = 29;  // number of element types, undefined included

/// Returns the width of one element in bits: 2, 4, 8, …, 128 (the six-bit floats take a byte each); 0 for
/// string and undefined. Types of less than a byte are packed, lowest bits first.
constexpr int bits_of(DataType t) {
  switch (t) {
    case DataType::uint2:
    case DataType::int2:
      return 2;
    case DataType::uint4:
    case DataType::int4:
    case DataType::float4e2m1:
      return 4;
    case DataType::uint8:
    case DataType::int8:
    case DataType::boolean:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::float8e8m0:
    case DataType::float6e2m3:
    case DataType::float6e3m2:
      return 8;
    case DataType::uint16:
    case DataType::int16:
    case DataType::float16:
    case DataType::bfloat16:
      return 16;
    case DataType::float32:
    case DataType::int32:
    case DataType::uint32:
      return 32;
    case DataType::float64:
    case DataType::int64:
    case DataType::uint64:
    case DataType::complex64:
      return 64;
    case DataType::complex128:
      return 128;
    case DataType::string:
    case DataType::undefined:
      return 0;
  }
  return 0;
}

/// Returns the bytes of `count` packed elements of a type of fixed width.
constexpr size_t bytes_for(DataType t, size_t count) {
  const size_t bits = static_cast<size_t>(bits_of(t));
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

/// Returns whether it is a real floating-point type, of any width.
constexpr bool is_float(DataType t) {
  switch (t) {
    case DataType::float32:
    case DataType::float16:
    case DataType::float64:
    case DataType::bfloat16:
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::float4e2m1:
    case DataType::float8e8m0:
    case DataType::float6e2m3:
    case DataType::float6e3m2:
      return true;
    default:
      return false;
  }
}
/// Returns whether it is an integer type with sign.
constexpr bool is_signed_integer(DataType t) {
  return t == DataType::int2 || t == DataType::int4 || t == DataType::int8 || t == DataType::int16 ||
         t == DataType::int32 || t == DataType::int64;
}
/// Returns whether it is an integer type without sign; boolean is none.
constexpr bool is_unsigned_integer(DataType t) {
  return t == DataType::uint2 || t == DataType::uint4 || t == DataType::uint8 || t == DataType::uint16 ||
         t == DataType::uint32 || t == DataType::uint64;
}
/// Returns whether it is an integer type.
constexpr bool is_integer(DataType t) { return is_signed_integer(t) || is_unsigned_integer(t); }
/// Returns whether it is a complex type.
constexpr bool is_complex(DataType t) { return t == DataType::complex64 || t == DataType::complex128; }

/// Returns the name that NumPy and this library use: "float32", "int4", "bool" for boolean.
LATHE_API std::string_view name_of(DataType t);
/// Returns the name in ONNX's type strings, `tensor(float)`: "float", "int4", "bool".
LATHE_API std::string_view onnx_name_of(DataType t);
/// Returns the type of either name; nothing where neither matches.
LATHE_API std::optional<DataType> data_type_from(std::string_view name);

}  // namespace lathe
