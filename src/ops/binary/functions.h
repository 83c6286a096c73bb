// Functions of two numbers that the reference and the kernels share.
#pragma once

#include <cmath>
#include <cstdint>

namespace lathe {

inline double modulo(double a, double b, bool sign_of_dividend) {
  const double r = std::fmod(a, b);
  if (sign_of_dividend || std::isnan(r)) return r;
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/// x^n by squaring, wrapping around. Towards zero for negative exponents: 1/x is 0 but for 1 and -1.
inline int64_t integer_power(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(x);
  for (auto left = static_cast<uint64_t>(n); left > 0; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

}  // namespace lathe
