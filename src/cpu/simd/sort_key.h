// Types that kernels which search for the greatest elements share.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/simd/isa.h"

namespace lathe::cpu {

/// The unsigned integer type of keys that compare as elements do: NaN is greater than all, and zeros are
/// equal, whatever their sign. cpu/simd/sort_key_body.h makes the keys.
template <class T>
using SortKey =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 1, uint8_t, uint32_t>>;

/// An instance of a template for each type that has keys.
template <template <class> class Of>
struct BySortType {
  Of<float> floats;
  Of<int32_t> ints;
  Of<int64_t> longs;
  template <class T>
  const Of<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return floats;
    else if constexpr (std::is_same_v<T, int32_t>)
      return ints;
    else
      return longs;
  }
};

}  // namespace lathe::cpu
