// What kernels that look for the greatest elements have in common.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/isa.h"

namespace lathe::cpu {

/// Elements as whole numbers without a sign that compare as they do: NaN is greater than all, and zeros are
/// equal, whatever their sign. cpu/rank_key.h makes them.
template <class T>
using RankKey =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 1, uint8_t, uint32_t>>;

/// One of something for each type that has keys.
template <template <class> class Of>
struct ByRankType {
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
