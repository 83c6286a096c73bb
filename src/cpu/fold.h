// Sums, products and extremes of one axis, most in a wider type than the elements have: what overflows
// nowhere in between (products of floats), doubles, and whole numbers, which wrap around in 64 bits. Of bytes
// there are extremes alone, of floats none.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

enum class FoldOp : uint8_t { sum, product, maximum, minimum, count };

/// Both go on from what there is. NaN wins.
template <class X, class W>
struct FoldLoops {
  W (*row[static_cast<size_t>(FoldOp::count)])(const X* x, int64_t n, W total) = {};
  /// `width` neighbouring columns; consecutive elements of a column are `stride` apart.
  void (*columns[static_cast<size_t>(FoldOp::count)])(const X* x, int64_t n, int64_t stride, int64_t width,
                                                      W* totals) = {};
};
struct FoldKernels {
  FoldLoops<float, double> floats;
  FoldLoops<double, double> doubles;
  FoldLoops<int32_t, int64_t> ints;
  FoldLoops<int64_t, int64_t> longs;
  FoldLoops<uint8_t, uint8_t> bytes;
  FoldLoops<int8_t, int8_t> signed_bytes;
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
const FoldKernels& fold_kernels(Isa isa);

}  // namespace lathe::cpu
