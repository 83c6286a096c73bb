// Element types. The numbers are those of TensorProto.DataType, so that the file and the memory agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lathe/export.h"

namespace lathe {

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
inline constexpr int data_type_count = 29;

/// Width of one element in bits: 2, 4, 8, …, 128 (the six-bit floats take a byte each). 0 for string and
/// undefined. Sub-byte types are packed, lowest bits first.
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

/// Bytes that `count` packed elements of a fixed-width type take.
constexpr size_t bytes_for(DataType t, size_t count) {
  const size_t bits = static_cast<size_t>(bits_of(t));
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

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
constexpr bool is_signed_integer(DataType t) {
  return t == DataType::int2 || t == DataType::int4 || t == DataType::int8 || t == DataType::int16 ||
         t == DataType::int32 || t == DataType::int64;
}
constexpr bool is_unsigned_integer(DataType t) {
  return t == DataType::uint2 || t == DataType::uint4 || t == DataType::uint8 || t == DataType::uint16 ||
         t == DataType::uint32 || t == DataType::uint64;
}
constexpr bool is_integer(DataType t) { return is_signed_integer(t) || is_unsigned_integer(t); }
constexpr bool is_complex(DataType t) { return t == DataType::complex64 || t == DataType::complex128; }

/// "float32", "int4", "boolean" as NumPy and this library write it ("bool" for boolean).
LATHE_API std::string_view name_of(DataType t);
/// "float", "int4", "bool": as ONNX's type strings write it (`tensor(float)`).
LATHE_API std::string_view onnx_name_of(DataType t);
/// Understands both spellings; nothing when neither matches.
LATHE_API std::optional<DataType> data_type_from(std::string_view name);

}  // namespace lathe
