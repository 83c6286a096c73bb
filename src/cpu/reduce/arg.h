// Finds the greatest or least elements along an axis, for ArgMax and ArgMin. NaN wins in both.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/simd/sort_key.h"
#include "kernel/kernel.h"
#include "tensor/strides.h"

namespace lathe::cpu {

/// Selects the least instead of the greatest, and the last of equal elements instead of the first.
struct ArgWish {
  bool least = false, last = false;
};

/// The best element so far of a row, or of each of some columns; at first the element at 0.
template <class T>
struct ArgBest {
  SortKey<T> key = 0;
  int64_t at = 0;
};

/// The columns that are processed together.
inline constexpr int64_t arg_columns = 128;

template <class T>
struct ArgLoops {
  /// Continues with elements [begin, end) of a row.
  void (*row)(const T* from, int64_t begin, int64_t end, ArgWish wish, ArgBest<T>& best);
  /// The same for `n` ≤ arg_columns neighboring columns; elements of a column are `stride` apart.
  void (*columns)(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n, ArgWish wish,
                  SortKey<T>* keys, int64_t* at);
};
struct ArgKernels {
  BySortType<ArgLoops> wide;
  ArgLoops<uint8_t> bytes;
  ArgLoops<int8_t> signed_bytes;
  template <class T>
  const ArgLoops<T>& of() const {
    if constexpr (std::is_same_v<T, uint8_t>)
      return bytes;
    else if constexpr (std::is_same_v<T, int8_t>)
      return signed_bytes;
    else
      return wide.of<T>();
  }
};
const ArgKernels& arg_kernels(Isa isa);

/// Searches along the middle one of three axes, which is not empty: calls f(o, first, columns, at) with the
/// places found in columns [first, first + columns) of outer index o, on many threads.
template <class T, class F>
void for_each_arg(Isa isa, const T* from, int64_t outer, int64_t n, int64_t inner, ArgWish wish,
                  KernelContext& c, F&& f) {
  constexpr int64_t between_polls = int64_t{1} << 18;
  const ArgLoops<T>& loops = arg_kernels(isa).of<T>();
  if (inner == 1) {
    c.parallel(outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        ArgBest<T> best;
        for (int64_t j = 0; j < n; j += between_polls) {
          c.poll();
          loops.row(from + o * n, j, std::min(n, j + between_polls), wish, best);
        }
        f(o, int64_t{0}, int64_t{1}, &best.at);
      }
    });
    return;
  }
  constexpr int64_t rows = between_polls / arg_columns;
  const int64_t blocks = ceil_div(inner, arg_columns);
  const int64_t grain = std::max<int64_t>(1, 16384 / (n * arg_columns));
  c.parallel(outer * blocks, grain, [&](int64_t begin, int64_t end) {
    std::array<SortKey<T>, arg_columns> keys;
    std::array<int64_t, arg_columns> at;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t o = task / blocks, first = task % blocks * arg_columns;
      const int64_t columns = std::min(arg_columns, inner - first);
      std::fill_n(keys.begin(), columns, 0);
      std::fill_n(at.begin(), columns, 0);
      for (int64_t j = 0; j < n; j += rows) {
        c.poll();
        loops.columns(from + o * n * inner + first, j, std::min(n, j + rows), inner, columns, wish,
                      keys.data(), at.data());
      }
      f(o, first, columns, at.data());
    }
  });
}

}  // namespace lathe::cpu
