// How results of interpolation are stored as elements of any numeric type.
#pragma once

#include <cmath>

#include "tensor/element.h"

namespace lathe {

/// Floats as they are; integers rounded to nearest even and clamped to what they hold (NaN: 0).
template <class T>
T store_rounded(double v) {
  if constexpr (std::is_integral_v<T>) {
    const double r = std::nearbyint(v);
    if (!(r > static_cast<double>(std::numeric_limits<T>::min())))
      return r != r ? T{0} : std::numeric_limits<T>::min();
    return r >= static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                   : static_cast<T>(r);
  } else {
    return Element<T>::store(static_cast<Compute<T>>(v));
  }
}

}  // namespace lathe
