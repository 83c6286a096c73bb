#include "cpu/reduce/top.h"

#include <algorithm>

#define LATHE_ISA_BODY "cpu/reduce/top_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TopKernels, top_kernels)

namespace {

/// Elements that are examined before the limit is raised.
int64_t piece_of(int64_t k) { return std::max<int64_t>(1024, k); }
/// Elements, or comparisons, between polls.
constexpr int64_t between_polls = int64_t{1} << 15;

template <class Key>
Key order_xor_of(bool largest) {
  return largest ? Key{0} : ~Key{0};
}

/// Calls f with a comparison; polls in between if there are many candidates.
template <class Key, class F>
void order(int64_t count, KernelContext& c, F f) {
  if (count <= between_polls / 16)
    return f([](const KeyedIndex<Key>& a, const KeyedIndex<Key>& b) { return a < b; });
  int64_t left = between_polls;
  f([&](const KeyedIndex<Key>& a, const KeyedIndex<Key>& b) {
    if (--left == 0) c.poll(), left = between_polls;
    return a < b;
  });
}

}  // namespace

int64_t top_candidates(int64_t n, int64_t k) {
  return std::min(n, k + piece_of(k)) + 1;  // one is written before it is known whether it counts
}

template <class T>
void find_top(Isa isa, const T* row, int64_t n, int64_t k, bool largest, KeyedIndex<SortKey<T>>* candidates,
              KernelContext& c) {
  using Key = SortKey<T>;
  if (k == 0) return;
  const TopLoops<T>& loops = top_kernels(isa).of<T>();
  const Key order_xor = order_xor_of<Key>(largest);
  if (k <= max_kept) {
    for (int64_t i = 0; i < n; i += between_polls) {
      c.poll();
      loops.keep(row, i, std::min(n, i + between_polls), order_xor, k, candidates);
    }
    return;
  }
  // Nothing is above the greatest key, and every key but 0 is above the limit 0. Elements with key 0 only
  // count if there are fewer than k others; they are then the last.
  Key limit = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += piece_of(k)) {
    const int64_t end = std::min(n, i + piece_of(k));
    for (int64_t j = i; j < end; j += between_polls) {
      c.poll();
      count += loops.collect(row, j, std::min(end, j + between_polls), order_xor, limit, candidates + count);
    }
    if (count <= k) continue;
    order<Key>(count, c, [&](auto before) {
      std::nth_element(candidates, candidates + (k - 1), candidates + count, before);
    });
    count = k;
    limit = candidates[k - 1].key;
  }
  order<Key>(count, c, [&](auto before) { std::sort(candidates, candidates + count, before); });
  // The remaining places are filled with the first elements of key 0.
  for (int64_t i = 0; i < n && count < k; ++i) {
    if (i % between_polls == 0) c.poll();
    KeyedIndex<Key> one[2];
    if (loops.collect(row, i, i + 1, ~order_xor, ~Key{0} - 1, one) == 1)
      candidates[count++] = {0, static_cast<uint32_t>(i)};
  }
}

template <class T>
void find_top_of_columns(Isa isa, const T* from, int64_t n, int64_t stride, int64_t columns, int64_t k,
                         bool largest, KeptColumns<SortKey<T>>* kept, KernelContext& c) {
  constexpr int64_t rows = between_polls / (kept_blocks * kept_columns);
  for (int64_t i = 0; k > 0 && i < n; i += rows) {
    c.poll();
    top_kernels(isa).of<T>().columns(from, i, std::min(n, i + rows), stride, columns,
                                     order_xor_of<SortKey<T>>(largest), k, kept);
  }
}

template void find_top(Isa, const float*, int64_t, int64_t, bool, KeyedIndex<uint32_t>*, KernelContext&);
template void find_top(Isa, const int32_t*, int64_t, int64_t, bool, KeyedIndex<uint32_t>*, KernelContext&);
template void find_top(Isa, const int64_t*, int64_t, int64_t, bool, KeyedIndex<uint64_t>*, KernelContext&);
template void find_top_of_columns(Isa, const float*, int64_t, int64_t, int64_t, int64_t, bool,
                                  KeptColumns<uint32_t>*, KernelContext&);
template void find_top_of_columns(Isa, const int32_t*, int64_t, int64_t, int64_t, int64_t, bool,
                                  KeptColumns<uint32_t>*, KernelContext&);
template void find_top_of_columns(Isa, const int64_t*, int64_t, int64_t, int64_t, int64_t, bool,
                                  KeptColumns<uint64_t>*, KernelContext&);

}  // namespace lathe::cpu
