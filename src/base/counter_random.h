// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): element i depends on seed and i alone,
// so that the result does not depend on how the work was divided.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace lathe {

class CounterRandom {
 public:
  explicit CounterRandom(uint64_t seed)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  /// Uniform in [0, 1), 53 bits.
  double uniform(uint64_t i, uint32_t stream = 0) const {
    const auto b = block(i, stream);
    return static_cast<double>((static_cast<uint64_t>(b[0]) << 32 | b[1]) >> 11) * 0x1p-53;
  }
  /// Normal with mean 0 and variance 1, by Box and Muller.
  double normal(uint64_t i) const {
    const double u = 1.0 - uniform(i, 1), v = uniform(i, 2);  // u in (0, 1]: its logarithm is finite
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  std::array<uint32_t, 4> block(uint64_t i, uint32_t stream) const {
    std::array<uint32_t, 4> x{static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), stream, 0};
    uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p = uint64_t{0xD2511F53} * x[0], q = uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<uint32_t>(q >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(q),
           static_cast<uint32_t>(p >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return x;
  }
  std::array<uint32_t, 2> key_;
};

}  // namespace lathe
