// The greatest or least elements of a row, for TopK.
#pragma once

#include <cstdint>

#include "cpu/simd/sort_key.h"

namespace lathe::cpu {

/// An element of a row and its index there. Of equal elements the first is less, so there are no ties.
template <class Key>
struct KeyedIndex {
  Key key;
  uint32_t index;
  bool operator<(const KeyedIndex& other) const {
    return key != other.key ? key > other.key : index < other.index;
  }
};

/// Up to this number, elements are kept in order while a row is read; for larger k, candidates are collected
/// and sorted.
inline constexpr int64_t max_kept = 16;
/// Columns whose elements are inserted together, so many that compilers vectorize the loop rather than unroll
/// it, and the number of such blocks that are processed side by side.
inline constexpr int64_t kept_columns = 32, kept_blocks = 2;

/// The first elements of each column, in order, and their indices.
template <class Key>
struct KeptColumns {
  Key keys[max_kept][kept_columns], places[max_kept][kept_columns];
};

/// `order_xor` is all ones if the least come first, else 0: keys are exclusive-ored with it.
template <class T>
struct TopLoops {
  /// Appends elements [begin, end) of `row` whose keys are above `limit` to `to`; returns how many.
  int64_t (*collect)(const T* row, int64_t begin, int64_t end, SortKey<T> order_xor, SortKey<T> limit,
                     KeyedIndex<SortKey<T>>* to);
  /// Continues with elements [begin, end) of a row; `kept` has the first k ≤ max_kept of those before. At
  /// the beginning of a row, `end` must be at least k.
  void (*keep)(const T* row, int64_t begin, int64_t end, SortKey<T> order_xor, int64_t k,
               KeyedIndex<SortKey<T>>* kept);
  /// The same for up to kept_blocks blocks of neighboring columns; elements of a column are `stride` apart.
  void (*columns)(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t columns,
                  SortKey<T> order_xor, int64_t k, KeptColumns<SortKey<T>>* kept);
};

using TopKernels = BySortType<TopLoops>;
const TopKernels& top_kernels(Isa isa);

/// The longest row: indices have 32 bits.
inline constexpr int64_t longest_top_row = int64_t{1} << 31;

/// The number of candidates that must fit to find the first k of a row of n.
int64_t top_candidates(int64_t n, int64_t k);

/// Writes the first `k` of the `n` elements of a row, in order, to the beginning of `candidates`. Needs no
/// other memory, and polls every few thousand elements. T: float, int32_t or int64_t.
template <class T>
void find_top(Isa isa, const T* row, int64_t n, int64_t k, bool largest, KeyedIndex<SortKey<T>>* candidates,
              KernelContext& c);

/// The same for each of `columns` ≤ kept_blocks * kept_columns columns of n elements, which are `stride`
/// apart; `k` ≤ max_kept.
template <class T>
void find_top_of_columns(Isa isa, const T* from, int64_t n, int64_t stride, int64_t columns, int64_t k,
                         bool largest, KeptColumns<SortKey<T>>* kept, KernelContext& c);

}  // namespace lathe::cpu
