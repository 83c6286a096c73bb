// The greatest elements of windows, and which tap of the window saw them: rows of windows over rows of a
// plane, without padding.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// Some neighbouring windows, and what they see of one row of the input.
template <class T>
struct MaximaRow {
  const T* x = nullptr;
  int64_t in = 0;  // elements of the row
  int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  int64_t first = 0, count = 0;  // windows
  int32_t tap = 0;               // the number of the first tap in this row
  // By window; of the windows that saw nothing yet the greatest element is the least there is, its tap -1.
  T* greatest = nullptr;
  int32_t* taps = nullptr;
};
template <class T>
struct MaximaLoops {
  void (*take)(const MaximaRow<T>&) = nullptr;
  /// … whose `taps` are null.
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
