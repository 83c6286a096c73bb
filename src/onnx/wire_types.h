// How protobuf writes values: the types on the wire, and which of them a C++ member has.
#pragma once

#include <string>
#include <type_traits>

#include "lathe/onnx.h"

namespace lathe::onnx::wire {

enum WireType { varint = 0, fixed64 = 1, delimited = 2, group_start = 3, group_end = 4, fixed32 = 5 };

template <class T>
inline constexpr bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, Bytes>;

/// The wire type of a member, or of the elements of a packed one.
template <class T>
constexpr int wire_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return fixed32;
  else if constexpr (std::is_same_v<T, double>)
    return fixed64;
  else if constexpr (std::is_arithmetic_v<T>)
    return varint;
  else
    return delimited;
}

}  // namespace lathe::onnx::wire
