// The greatest elements of a row, or the least: what TopK finds.
#pragma once

#include <cstdint>

#include "cpu/rank.h"

namespace lathe::cpu {

/// An element of a row and its place there. Of equal ones the first comes first: there are no ties.
template <class Key>
struct Ranked {
  Key key;
  uint32_t index;
  bool operator<(const Ranked& other) const {
    return key != other.key ? key > other.key : index < other.index;
  }
};

/// So few are kept in order while a row is walked; of more, candidates are collected and ordered.
inline constexpr int64_t most_kept = 16;
/// Columns whose elements go into their lists together, so many that compilers make vectors of them rather
/// than unroll the loop, and how many such blocks are walked side by side.
inline constexpr int64_t kept_columns = 32, kept_blocks = 2;

/// The first of each column, in order, and where they are.
template <class Key>
struct KeptColumns {
  Key keys[most_kept][kept_columns], places[most_kept][kept_columns];
};

/// `turn` is all ones where the least come first, else 0: keys are turned around with it.
template <class T>
struct TopLoops {
  /// Elements [begin, end) of `row` whose keys are above `limit` are appended to `to`; returns how many.
  int64_t (*collect)(const T* row, int64_t begin, int64_t end, RankKey<T> turn, RankKey<T> limit,
                     Ranked<RankKey<T>>* to);
  /// Goes on with elements [begin, end) of a row, of which `kept` has the first k ≤ most_kept. At the
  /// beginning of a row, `end` is k at least.
  void (*keep)(const T* row, int64_t begin, int64_t end, RankKey<T> turn, int64_t k,
               Ranked<RankKey<T>>* kept);
  /// The same for up to kept_blocks blocks of columns that lie side by side, elements of a column `stride`
  /// apart.
  void (*columns)(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t columns, RankKey<T> turn,
                  int64_t k, KeptColumns<RankKey<T>>* kept);
};

using TopKernels = ByRankType<TopLoops>;
const TopKernels& top_kernels(Isa isa);

/// The longest row: places take 32 bits.
inline constexpr int64_t longest_top_row = int64_t{1} << 31;

/// How many candidates must fit where the first k of a row of n are looked for.
int64_t top_candidates(int64_t n, int64_t k);

/// The first `k` of the `n` elements of a row, in order, at the beginning of `candidates`. Memory beside the
/// candidates is not needed. `poll` is called every few thousand elements. T: float, int32_t or int64_t.
template <class T>
void find_top(Isa isa, const T* row, int64_t n, int64_t k, bool largest, Ranked<RankKey<T>>* candidates,
              KernelContext& c);

/// The first `k` ≤ most_kept of each of `columns` ≤ kept_blocks * kept_columns columns of n elements, which
/// are `stride` apart.
template <class T>
void find_top_of_columns(Isa isa, const T* from, int64_t n, int64_t stride, int64_t columns, int64_t k,
                         bool largest, KeptColumns<RankKey<T>>* kept, KernelContext& c);

}  // namespace lathe::cpu
