// Squares of elements turned in vectors of 16 bytes, which every machine has: where what kernels of their own
// would gain is not worth them.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace lathe::cpu {

template <class T>
inline constexpr int turned_at_once = 16 / static_cast<int>(sizeof(T));

namespace turning {

template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(16)));
};
template <class T>
using Elements = std::make_integer_sequence<int, turned_at_once<T>>;

/// The elements of both in turn, from `first` on.
template <class T, int first, class V, int... I>
V zip(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (first + I / 2 + I % 2 * turned_at_once<T>)...);
}

}  // namespace turning

/// Rows of a square of turned_at_once<T> become columns: of as many rows, `from_row` apart, the first
/// `columns` elements. All elements of these rows are read.
template <class T>
void turn(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t columns = turned_at_once<T>) {
  constexpr int n = turned_at_once<T>, half = n / 2;
  using V = typename turning::Vector<T>::Type;
  V rows[n], next[n];
  for (int i = 0; i < n; ++i) std::memcpy(&rows[i], from + i * from_row, sizeof(V));
  // Each round is a perfect shuffle of all elements.
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < half; ++i) {
      next[2 * i] = turning::zip<T, 0>(rows[i], rows[i + half], turning::Elements<T>());
      next[2 * i + 1] = turning::zip<T, half>(rows[i], rows[i + half], turning::Elements<T>());
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
  for (int64_t i = 0; i < columns; ++i) std::memcpy(to + i * to_row, &rows[i], sizeof(V));
}

}  // namespace lathe::cpu
