// Sums, products and extremes along one axis. Most totals are in a wider type than the elements: float64, so
// that products of floats do not overflow in between, and integers, which wrap around in 64 bits. Bytes have
// extremes only, float32 has none.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

enum class AccumulateOp : uint8_t { sum, product, maximum, minimum, count };

/// Both continue from the totals that they get. NaN wins.
template <class X, class W>
struct AccumulateLoops {
  W (*row[static_cast<size_t>(AccumulateOp::count)])(const X* x, int64_t n, W total) = {};
  /// The same for `width` neighboring columns; consecutive elements of a column are `stride` apart.
  void (*columns[static_cast<size_t>(AccumulateOp::count)])(const X* x, int64_t n, int64_t stride,
                                                            int64_t width, W* totals) = {};
};
struct AccumulateKernels {
  AccumulateLoops<float, double> floats;
  AccumulateLoops<double, double> doubles;
  AccumulateLoops<int32_t, int64_t> ints;
  AccumulateLoops<int64_t, int64_t> longs;
  AccumulateLoops<uint8_t, uint8_t> bytes;
  AccumulateLoops<int8_t, int8_t> signed_bytes;
  template <class X>
  const auto& of() const {
    if constexpr (std::is_same_v<X, float>)
      return floats;
    else if constexpr (std::is_same_v<X, double>)
      return doubles;
    else if constexpr (std::is_same_v<X, int32_t>)
      return ints;
    else if constexpr (std::is_same_v<X, uint8_t>)
      return bytes;
    else if constexpr (std::is_same_v<X, int8_t>)
      return signed_bytes;
    else
      return longs;
  }
};
const AccumulateKernels& accumulate_kernels(Isa isa);

}  // namespace lathe::cpu
