// The greatest elements of windows, and the tap of the window that holds each: rows of windows over rows of a
// plane. Padding is not read.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// Some neighboring windows over one row of the input.
template <class T>
struct MaximaRow {
  const T* x = nullptr;
  int64_t in = 0;  // elements of the row
  int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  int64_t first = 0, count = 0;  // windows
  int32_t tap = 0;               // the number of the first tap in this row
  // By window. For windows that have seen no element yet, `greatest` is the least value and the tap is -1.
  T* greatest = nullptr;
  int32_t* taps = nullptr;
};
template <class T>
struct MaximaLoops {
  void (*take)(const MaximaRow<T>&) = nullptr;
  /// The same if `taps` is null.
  void (*take_values)(const MaximaRow<T>&) = nullptr;
};
struct MaximaKernels {
  MaximaLoops<float> floats;
  MaximaLoops<double> doubles;
  MaximaLoops<int8_t> bytes;
  MaximaLoops<uint8_t> unsigned_bytes;
  template <class T>
  const MaximaLoops<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return floats;
    else if constexpr (std::is_same_v<T, double>)
      return doubles;
    else if constexpr (std::is_same_v<T, int8_t>)
      return bytes;
    else
      return unsigned_bytes;
  }
};
const MaximaKernels& maxima_kernels(Isa isa);

}  // namespace lathe::cpu
