// Transposes squares of elements in vectors of 16 bytes, which every machine has, where kernels for each
// instruction set would gain too little.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace lathe::cpu {

template <class T>
inline constexpr int transpose_side = 16 / static_cast<int>(sizeof(T));

namespace transposing {

template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(16)));
};
template <class T>
using Elements = std::make_integer_sequence<int, transpose_side<T>>;

/// Interleaves the elements of both, from `first` on.
template <class T, int first, class V, int... I>
V zip(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (first + I / 2 + I % 2 * transpose_side<T>)...);
}

}  // namespace transposing

/// Transposes a square of transpose_side<T> rows, `from_row` apart: their first `columns` columns become rows
/// of `to`. All elements of the rows are read.
template <class T>
void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row,
                    int64_t columns = transpose_side<T>) {
  constexpr int n = transpose_side<T>, half = n / 2;
  using V = typename transposing::Vector<T>::Type;
  V rows[n], next[n];
  for (int i = 0; i < n; ++i) std::memcpy(&rows[i], from + i * from_row, sizeof(V));
  // Each round is a perfect shuffle of all elements.
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < half; ++i) {
      next[2 * i] = transposing::zip<T, 0>(rows[i], rows[i + half], transposing::Elements<T>());
      next[2 * i + 1] = transposing::zip<T, half>(rows[i], rows[i + half], transposing::Elements<T>());
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
  for (int64_t i = 0; i < columns; ++i) std::memcpy(to + i * to_row, &rows[i], sizeof(V));
}

}  // namespace lathe::cpu
