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

/// Elements [begin, end) of `row` whose keys are above `limit` are appended to `to`; returns how many. The
/// keys are turned around, so that the least come first, where `turn` is all ones; else it is 0.
template <class T>
using CollectAbove = int64_t (*)(const T* row, int64_t begin, int64_t end, RankKey<T> turn, RankKey<T> limit,
                                 Ranked<RankKey<T>>* to);

using TopKernels = ByRankType<CollectAbove>;
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

}  // namespace lathe::cpu
