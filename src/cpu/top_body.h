// The loops of top.h; the compiler makes vectors of them. Included by for_each_isa.h only.

LATHE_INLINE uint32_t rank_key(float x) {
  uint32_t bits;
  const float unsigned_zero = x + 0.0f;
  memcpy(&bits, &unsigned_zero, sizeof bits);
  const uint32_t ordered = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : ordered;
}
LATHE_INLINE uint32_t rank_key(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
LATHE_INLINE uint64_t rank_key(int64_t x) { return static_cast<uint64_t>(x) ^ (uint64_t{1} << 63); }

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
