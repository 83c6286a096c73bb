// The loops of top.h, which the compiler vectorizes. Included by for_each_isa.h only.

#include "cpu/simd/sort_key_body.h"

/// Most blocks of a long row hold no element above the limit; they are only compared.
constexpr int64_t sort_block = 64;

template <int64_t n, class T>
LATHE_INLINE bool any_above(const T* x, SortKey<T> order_xor, SortKey<T> limit) {
  SortKey<T> any = 0;
  for (int64_t i = 0; i < n; ++i) any |= (sort_key(x[i]) ^ order_xor) > limit ? 1 : 0;
  return any != 0;
}

template <class T>
static int64_t collect_above(const T* row, int64_t begin, int64_t end, SortKey<T> order_xor, SortKey<T> limit,
                             KeyedIndex<SortKey<T>>* to) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; i += sort_block) {
    const int64_t n = end - i < sort_block ? end - i : sort_block;
    if (n == sort_block && !any_above<sort_block>(row + i, order_xor, limit)) continue;
    for (int64_t j = i; j < i + n; ++j) {
      const SortKey<T> key = sort_key(row[j]) ^ order_xor;
      to[count] = {key, static_cast<uint32_t>(j)};
      count += key > limit;
    }
  }
  return count;
}

template <class T>
static void keep_first(const T* row, int64_t begin, int64_t end, SortKey<T> order_xor, int64_t k,
                       KeyedIndex<SortKey<T>>* kept) {
  // Inserts an element behind those that are as great: they came before.
  const auto insert = [&](int64_t count, SortKey<T> key, int64_t i) {
    for (; count > 0 && kept[count - 1].key < key; --count) kept[count] = kept[count - 1];
    kept[count] = {key, static_cast<uint32_t>(i)};
  };
  int64_t i = begin;
  for (; i < k; ++i) insert(i, sort_key(row[i]) ^ order_xor, i);
  constexpr int64_t part = 16;
  while (i < end) {
    if (end - i >= sort_block && !any_above<sort_block>(row + i, order_xor, kept[k - 1].key)) {
      i += sort_block;
      continue;
    }
    for (const int64_t stop = end - i < sort_block ? end : i + sort_block; i < stop;) {
      const int64_t n = stop - i < part ? stop - i : part;
      if (n < part || any_above<part>(row + i, order_xor, kept[k - 1].key))
        for (int64_t j = i; j < i + n; ++j)
          if (const SortKey<T> key = sort_key(row[j]) ^ order_xor; key > kept[k - 1].key)
            insert(k - 1, key, j);
      i += n;
    }
  }
}

/// Inserts one element into the list of each column; lesser elements move on by one.
template <bool whole, class T>
LATHE_INLINE void insert_in_columns(const T* row, int64_t place, int64_t n, SortKey<T> order_xor,
                                    int64_t slots, KeptColumns<SortKey<T>>& kept) {
  using Key = SortKey<T>;
  const int64_t columns = whole ? kept_columns : n;
  Key key[kept_columns], moved[kept_columns], at[kept_columns];
  for (int64_t c = 0; c < columns; ++c) {
    moved[c] = key[c] = sort_key(row[c]) ^ order_xor;
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
                            SortKey<T> order_xor, int64_t k, KeptColumns<SortKey<T>>* kept) {
  for (int64_t j = begin; j < end; ++j)
    for (int64_t first = 0, b = 0; first < columns; first += kept_columns, ++b) {
      const T* const row = from + j * stride + first;
      const bool whole = columns - first >= kept_columns;
      if (j < k) {  // no key is less than that of the new slot
        for (int64_t c = 0; c < kept_columns; ++c) {
          kept[b].keys[j][c] = 0;
          kept[b].places[j][c] = static_cast<SortKey<T>>(j);
        }
      } else if (whole) {
        const SortKey<T>* const limits = kept[b].keys[k - 1];
        SortKey<T> any = 0;
        for (int64_t c = 0; c < kept_columns; ++c) any |= (sort_key(row[c]) ^ order_xor) > limits[c] ? 1 : 0;
        if (any == 0) continue;
      }
      const int64_t slots = j < k ? j + 1 : k;
      whole ? insert_in_columns<true>(row, j, kept_columns, order_xor, slots, kept[b])
            : insert_in_columns<false>(row, j, columns - first, order_xor, slots, kept[b]);
    }
}

constexpr TopKernels table{{collect_above<float>, keep_first<float>, keep_in_columns<float>},
                           {collect_above<int32_t>, keep_first<int32_t>, keep_in_columns<int32_t>},
                           {collect_above<int64_t>, keep_first<int64_t>, keep_in_columns<int64_t>}};
