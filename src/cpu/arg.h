// Where the greatest elements are, or the least: what ArgMax and ArgMin find. NaN is more than every number,
// whichever is looked for.
#pragma once

#include "cpu/rank.h"

namespace lathe::cpu {

/// Which element is looked for: the least; of equal ones, the last.
struct ArgWish {
  bool least = false, last = false;
};

/// The best element seen so far, of a row or of each of some columns: at first the element at 0.
template <class T>
struct ArgBest {
  RankKey<T> key = 0;
  int64_t at = 0;
};

/// Columns that are walked together.
inline constexpr int64_t arg_columns = 128;

template <class T>
struct ArgLoops {
  /// Goes on with elements [begin, end) of a row.
  void (*row)(const T* from, int64_t begin, int64_t end, ArgWish wish, ArgBest<T>& best);
  /// The same for `n` ≤ arg_columns columns that lie side by side, elements of a column `stride` apart.
  void (*columns)(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n, ArgWish wish,
                  RankKey<T>* keys, int64_t* at);
};
using ArgKernels = ByRankType<ArgLoops>;
const ArgKernels& arg_kernels(Isa isa);

}  // namespace lathe::cpu
