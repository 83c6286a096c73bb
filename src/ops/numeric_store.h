// Stores results of interpolation as elements of any numeric type.
#pragma once

#include <cmath>

#include "tensor/element.h"

namespace lathe {

/// Floats as they are; integers and bools rounded to nearest even and clamped to what they hold (NaN: 0).
template <class T>
T store_rounded(double v) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::abs(v) > 0.5;
  } else if constexpr (std::is_integral_v<T>) {
    const double r = std::nearbyint(v);
    if (!(r > static_cast<double>(std::numeric_limits<T>::min())))
      return r != r ? T{0} : std::numeric_limits<T>::min();
    return r >= static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                   : static_cast<T>(r);
  } else {
    return Element<T>::store(static_cast<Compute<T>>(v));
  }
}

/// The numbers that interpolation reads of an element: one, or two if it is complex.
inline int64_t parts_of(DataType t) { return is_complex(t) ? 2 : 1; }

/// Calls f.operator()<T>() with the type of those numbers.
template <class F>
void for_parts(DataType t, F f) {
  if (t == DataType::complex64)
    f.template operator()<float>();
  else if (t == DataType::complex128)
    f.template operator()<double>();
  else
    for_type(t, number_and_bool_types, f);
}

}  // namespace lathe
