// The loops of top.h; the compiler makes vectors of them. Included by for_each_isa.h only.

#include "cpu/rank_key.h"

/// Most blocks of a long row hold nothing that is great enough: they are only looked at.
constexpr int64_t rank_block = 64;

template <int64_t n, class T>
LATHE_INLINE bool any_above(const T* x, RankKey<T> turn, RankKey<T> limit) {
  RankKey<T> any = 0;
  for (int64_t i = 0; i < n; ++i) any |= (rank_key(x[i]) ^ turn) > limit ? 1 : 0;
  return any != 0;
}

template <class T>
static int64_t collect_above(const T* row, int64_t begin, int64_t end, RankKey<T> turn, RankKey<T> limit,
                             Ranked<RankKey<T>>* to) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; i += rank_block) {
    const int64_t n = end - i < rank_block ? end - i : rank_block;
    if (n == rank_block && !any_above<rank_block>(row + i, turn, limit)) continue;
    for (int64_t j = i; j < i + n; ++j) {
      const RankKey<T> key = rank_key(row[j]) ^ turn;
      to[count] = {key, static_cast<uint32_t>(j)};
      count += key > limit;
    }
  }
  return count;
}

template <class T>
static void keep_first(const T* row, int64_t begin, int64_t end, RankKey<T> turn, int64_t k,
                       Ranked<RankKey<T>>* kept) {
  // Behind those that are as great: they came before.
  const auto insert = [&](int64_t count, RankKey<T> key, int64_t i) {
    for (; count > 0 && kept[count - 1].key < key; --count) kept[count] = kept[count - 1];
    kept[count] = {key, static_cast<uint32_t>(i)};
  };
  int64_t i = begin;
  for (; i < k; ++i) insert(i, rank_key(row[i]) ^ turn, i);
  constexpr int64_t part = 16;
  while (i < end) {
    if (end - i >= rank_block && !any_above<rank_block>(row + i, turn, kept[k - 1].key)) {
      i += rank_block;
      continue;
    }
    for (const int64_t stop = end - i < rank_block ? end : i + rank_block; i < stop;) {
      const int64_t n = stop - i < part ? stop - i : part;
      if (n < part || any_above<part>(row + i, turn, kept[k - 1].key))
        for (int64_t j = i; j < i + n; ++j)
          if (const RankKey<T> key = rank_key(row[j]) ^ turn; key > kept[k - 1].key) insert(k - 1, key, j);
      i += n;
    }
  }
}

/// A place for each column's element in the list of that column: what is less moves on by one.
template <bool whole, class T>
LATHE_INLINE void insert_in_columns(const T* row, int64_t place, int64_t n, RankKey<T> turn, int64_t slots,
                                    KeptColumns<RankKey<T>>& kept) {
  using Key = RankKey<T>;
  const int64_t columns = whole ? kept_columns : n;
  Key key[kept_columns], moved[kept_columns], at[kept_columns];
  for (int64_t c = 0; c < columns; ++c) {
    moved[c] = key[c] = rank_key(row[c]) ^ turn;
    at[c] = static_cast<Key>(place);
  }
  for (int64_t s = 0; s < slots; ++s) {
    Key* const keys = kept.keys[s];
    Key* const places = kept.places[s];
    for (int64_t c = 0; c < columns; ++c) {
      const Key other = keys[c], other_at = places[c];
      const bool moves = key[c] > other;
      keys[c] = moves ? moved[c] : other;
      places[c] = moves ? at[c] : other_at;
      moved[c] = moves ? other : moved[c];
      at[c] = moves ? other_at : at[c];
    }
  }
}

template <class T>
static void keep_in_columns(const T* from, int64_t begin, int64_t end, int64_t stride, int64_t columns,
                            RankKey<T> turn, int64_t k, KeptColumns<RankKey<T>>* kept) {
  for (int64_t j = begin; j < end; ++j)
    for (int64_t first = 0, b = 0; first < columns; first += kept_columns, ++b) {
      const T* const row = from + j * stride + first;
      const bool whole = columns - first >= kept_columns;
      if (j < k) {  // nothing is less than what the new slot begins with
        for (int64_t c = 0; c < kept_columns; ++c) {
          kept[b].keys[j][c] = 0;
          kept[b].places[j][c] = static_cast<RankKey<T>>(j);
        }
      } else if (whole) {
        const RankKey<T>* const limits = kept[b].keys[k - 1];
        RankKey<T> any = 0;
        for (int64_t c = 0; c < kept_columns; ++c) any |= (rank_key(row[c]) ^ turn) > limits[c] ? 1 : 0;
        if (any == 0) continue;
      }
      const int64_t slots = j < k ? j + 1 : k;
      whole ? insert_in_columns<true>(row, j, kept_columns, turn, slots, kept[b])
            : insert_in_columns<false>(row, j, columns - first, turn, slots, kept[b]);
    }
}

constexpr TopKernels table{{collect_above<float>, keep_first<float>, keep_in_columns<float>},
                           {collect_above<int32_t>, keep_first<int32_t>, keep_in_columns<int32_t>},
                           {collect_above<int64_t>, keep_first<int64_t>, keep_in_columns<int64_t>}};
