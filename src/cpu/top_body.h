// The loops of top.h; the compiler makes vectors of them. Included by for_each_isa.h only.

#include "cpu/rank_key.h"

/// Most blocks of a long row hold nothing that is great enough: they are only looked at.
constexpr int64_t rank_block = 64;

template <class T>
static int64_t collect_above(const T* row, int64_t begin, int64_t end, RankKey<T> turn, RankKey<T> limit,
                             Ranked<RankKey<T>>* to) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; i += rank_block) {
    const int64_t n = end - i < rank_block ? end - i : rank_block;
    if (n == rank_block) {
      RankKey<T> any = 0;
      for (int64_t j = 0; j < rank_block; ++j) any |= (rank_key(row[i + j]) ^ turn) > limit ? 1 : 0;
      if (!any) continue;
    }
    for (int64_t j = i; j < i + n; ++j) {
      const RankKey<T> key = rank_key(row[j]) ^ turn;
      to[count] = {key, static_cast<uint32_t>(j)};
      count += key > limit;
    }
  }
  return count;
}

constexpr TopKernels table{collect_above<float>, collect_above<int32_t>, collect_above<int64_t>};
