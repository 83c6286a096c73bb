// Floats as integers, also where C++ leaves open what becomes of those that do not fit: what x86 makes of
// them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace lathe {

/// Rounds towards zero; NaN and what does not fit become INT64_MIN.
inline int64_t to_integer(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? static_cast<int64_t>(x) : INT64_MIN;
}

/// The same as an integer or bool of type `To`; all but 0 are true.
template <class To>
To to_integer_as(double x) {
  static_assert(std::is_integral_v<To>);
  if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_same_v<To, uint64_t>)
    return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? static_cast<uint64_t>(x)
                                                                    : static_cast<uint64_t>(to_integer(x));
  else if constexpr (std::is_same_v<To, int64_t> || std::is_same_v<To, uint32_t>)
    return static_cast<To>(to_integer(x));
  else  // by way of int32, as the processor does
    return static_cast<To>(x > -2147483649.0 && x < 2147483648.0 ? static_cast<int32_t>(x) : INT32_MIN);
}

}  // namespace lathe
