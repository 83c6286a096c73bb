#include "lathe/types.h"

#include <array>

namespace lathe {
namespace {

struct Names {
  std::string_view plain, onnx;
};

// Indexed by the number of the type.
constexpr std::array<Names, data_type_count> names = {{
    {"undefined", "undefined"},
    {"float32", "float"},
    {"uint8", "uint8"},
    {"int8", "int8"},
    {"uint16", "uint16"},
    {"int16", "int16"},
    {"int32", "int32"},
    {"int64", "int64"},
    {"string", "string"},
    {"bool", "bool"},
    {"float16", "float16"},
    {"float64", "double"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"complex64", "complex64"},
    {"complex128", "complex128"},
    {"bfloat16", "bfloat16"},
    {"float8e4m3fn", "float8e4m3fn"},
    {"float8e4m3fnuz", "float8e4m3fnuz"},
    {"float8e5m2", "float8e5m2"},
    {"float8e5m2fnuz", "float8e5m2fnuz"},
    {"uint4", "uint4"},
    {"int4", "int4"},
    {"float4e2m1", "float4e2m1"},
    {"float8e8m0", "float8e8m0"},
    {"uint2", "uint2"},
    {"int2", "int2"},
    {"float6e2m3", "float6e2m3"},
    {"float6e3m2", "float6e3m2"},
}};

}  // namespace

std::string_view name_of(DataType t) {
  const auto i = static_cast<size_t>(t);
  return i < names.size() ? names[i].plain : "undefined";
}

std::string_view onnx_name_of(DataType t) {
  const auto i = static_cast<size_t>(t);
  return i < names.size() ? names[i].onnx : "undefined";
}

std::optional<DataType> data_type_from(std::string_view name) {
  for (size_t i = 1; i < names.size(); ++i)
    if (names[i].plain == name || names[i].onnx == name) return static_cast<DataType>(i);
  return std::nullopt;
}

}  // namespace lathe
