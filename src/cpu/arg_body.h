// The loops of arg.h; the compiler makes vectors of them. Included by for_each_isa.h only.

#include "cpu/rank_key.h"

/// What is looked for has the greatest key.
template <bool least>
LATHE_INLINE uint32_t arg_key(float x) {
  const uint32_t key = rank_key(x);
  return least && key != 0xffffffffu ? ~key : key;
}
template <bool least, class T>
requires std::is_integral_v<T> LATHE_INLINE RankKey<T> arg_key(T x) {
  return static_cast<RankKey<T>>(least ? ~rank_key(x) : rank_key(x));
}

constexpr int64_t arg_block = 64;

template <class T, bool least>
static bool holds(const T* block, RankKey<T> key) {
  RankKey<T> any = 0;
  for (int64_t i = 0; i < arg_block; ++i) any |= arg_key<least>(block[i]) == key ? 1 : 0;
  return any != 0;
}

/// First the greatest key, then where it is.
template <class T, bool least>
static void arg_of_row(const T* from, int64_t begin, int64_t end, bool last, ArgBest<T>& best) {
  // By way of memory: compilers would make branches of the choices in a key and between two, and no vectors.
  RankKey<T> greatest = 0, keys[arg_block];
  for (int64_t i = begin; i < end; i += arg_block) {
    const int64_t n = end - i < arg_block ? end - i : arg_block;
    for (int64_t j = 0; j < n; ++j) keys[j] = arg_key<least>(from[i + j]);
    for (int64_t j = 0; j < n; ++j) greatest = keys[j] > greatest ? keys[j] : greatest;
  }
  if (greatest < best.key || (greatest == best.key && !last && begin > 0)) return;
  best.key = greatest;
  int64_t first = begin, rest = end;
  if (last) {
    while (rest - first >= arg_block && !holds<T, least>(from + rest - arg_block, greatest))
      rest -= arg_block;
    while (arg_key<least>(from[rest - 1]) != greatest) --rest;
    best.at = rest - 1;
  } else {
    while (rest - first >= arg_block && !holds<T, least>(from + first, greatest)) first += arg_block;
    while (arg_key<least>(from[first]) != greatest) ++first;
    best.at = first;
  }
}

template <class T>
static void arg_row(const T* from, int64_t begin, int64_t end, ArgWish wish, ArgBest<T>& best) {
  if (begin == end) return;
  wish.least ? arg_of_row<T, true>(from, begin, end, wish.last, best)
             : arg_of_row<T, false>(from, begin, end, wish.last, best);
}

template <class T, bool least, bool last>
static void arg_of_columns(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n,
                           RankKey<T>* __restrict keys, int64_t* __restrict at) {
  for (int64_t j = begin; j < end; ++j) {
    const T* const row = from + j * stride;
    for (int64_t i = 0; i < n; ++i) {
      const RankKey<T> key = arg_key<least>(row[i]);
      const bool better = last ? key >= keys[i] : key > keys[i];
      keys[i] = better ? key : keys[i];
      at[i] = better ? j : at[i];
    }
  }
}

template <class T>
static void arg_all_columns(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n,
                            ArgWish wish, RankKey<T>* keys, int64_t* at) {
  if (wish.least)
    wish.last ? arg_of_columns<T, true, true>(from, begin, end, stride, n, keys, at)
              : arg_of_columns<T, true, false>(from, begin, end, stride, n, keys, at);
  else
    wish.last ? arg_of_columns<T, false, true>(from, begin, end, stride, n, keys, at)
              : arg_of_columns<T, false, false>(from, begin, end, stride, n, keys, at);
}

template <class T>
constexpr ArgLoops<T> loops{arg_row<T>, arg_all_columns<T>};
constexpr ArgKernels table{{loops<float>, loops<int32_t>, loops<int64_t>}, loops<uint8_t>, loops<int8_t>};
