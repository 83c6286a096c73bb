// The loops of arg.h, which the compiler vectorizes. Included by for_each_isa.h only.

#include "cpu/simd/sort_key_body.h"

/// The key of an element: the best element has the greatest key.
template <bool least>
LATHE_INLINE uint32_t arg_key(float x) {
  const uint32_t key = sort_key(x);
  return least && key != 0xffffffffu ? ~key : key;
}
template <bool least, class T>
requires std::is_integral_v<T> LATHE_INLINE SortKey<T> arg_key(T x) {
  return static_cast<SortKey<T>>(least ? ~sort_key(x) : sort_key(x));
}

/// Elements whose keys are made at a time. Rows of a few dozen elements, such as a detector's classes, are
/// read once.
constexpr int64_t arg_block = 128;

/// Writes keys to memory: otherwise compilers would make branches of the selections, and no vectors.
template <bool least, class T>
static void make_keys(const T* from, int64_t n, SortKey<T>* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = arg_key<least>(from[i]);
}

/// The index of the first (or last) of `n` ≤ arg_block keys that equals `key`.
template <class Key>
static int64_t place_in(const Key* keys, int64_t n, Key key, bool last) {
  Key indices[arg_block], place = 0;  // `place`: the greatest of the indices
  constexpr Key whole = arg_block;
  if (last) {
    for (int64_t i = 0; i < n; ++i) indices[i] = keys[i] == key ? static_cast<Key>(i) : Key{0};
  } else {
    for (int64_t i = 0; i < n; ++i) indices[i] = keys[i] == key ? static_cast<Key>(whole - i) : Key{0};
  }
  for (int64_t i = 0; i < n; ++i) place = indices[i] > place ? indices[i] : place;
  return static_cast<int64_t>(last ? place : whole - place);
}

template <class Key>
static bool holds(const Key* keys, Key key) {
  Key any = 0;
  for (int64_t i = 0; i < arg_block; ++i) any |= keys[i] == key ? 1 : 0;
  return any != 0;
}

/// Finds the greatest key first, then its index.
template <class T, bool least>
static void arg_of_row(const T* from, int64_t begin, int64_t end, bool last, ArgBest<T>& best) {
  SortKey<T> greatest = 0, keys[arg_block];
  for (int64_t i = begin; i < end; i += arg_block) {
    const int64_t n = end - i < arg_block ? end - i : arg_block;
    make_keys<least>(from + i, n, keys);
    for (int64_t j = 0; j < n; ++j) greatest = keys[j] > greatest ? keys[j] : greatest;
  }
  if (greatest < best.key || (greatest == best.key && !last && begin > 0)) return;
  best.key = greatest;
  int64_t first = begin, rest = end;
  const bool several = end - begin > arg_block;
  for (; several && rest - first > arg_block; last ? rest -= arg_block : first += arg_block) {
    make_keys<least>(last ? from + rest - arg_block : from + first, arg_block, keys);
    if (!holds(keys, greatest)) continue;
    best.at = (last ? rest - arg_block : first) + place_in(keys, arg_block, greatest, last);
    return;
  }
  if (several) make_keys<least>(from + first, rest - first, keys);
  best.at = first + place_in(keys, rest - first, greatest, last);
}

template <class T>
static void arg_row(const T* from, int64_t begin, int64_t end, ArgWish wish, ArgBest<T>& best) {
  if (begin == end) return;
  wish.least ? arg_of_row<T, true>(from, begin, end, wish.last, best)
             : arg_of_row<T, false>(from, begin, end, wish.last, best);
}

template <class T, bool least, bool last>
static void arg_of_columns(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n,
                           SortKey<T>* __restrict keys, int64_t* __restrict at) {
  for (int64_t j = begin; j < end; ++j) {
    const T* const row = from + j * stride;
    for (int64_t i = 0; i < n; ++i) {
      const SortKey<T> key = arg_key<least>(row[i]);
      const bool better = last ? key >= keys[i] : key > keys[i];
      keys[i] = better ? key : keys[i];
      at[i] = better ? j : at[i];
    }
  }
}

template <class T>
static void arg_all_columns(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t n,
                            ArgWish wish, SortKey<T>* keys, int64_t* at) {
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
