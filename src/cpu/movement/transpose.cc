#include "cpu/movement/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/movement/move.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/transpose_tile.h"
#include "tensor/strides.h"

#define LATHE_ISA_BODY "cpu/movement/transpose_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TransposeKernels, transpose_kernels)

namespace {

/// Squares have rows of several lines: distant lines are read with their neighbors (measured: three times
/// faster than two lines if rows are 25 KB apart) and written with their neighbors; longer runs of lines are
/// written to memory faster (16 of them 1.3 to 1.8 times as fast as four).
constexpr int64_t square = 64, long_square = 4 * square;
/// Elements between polls, and of a piece that is worth another thread.
constexpr int64_t piece_elements = 16384;

/// The output's axes, with the stride of each in the input: axes of size 1 are left out, and neighbors that
/// stay together are merged.
struct Walk {
  Shape sizes, strides;

  Walk(const Shape& shape, const Shape& axes) {
    Shape dense(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) dense[i - 1] = dense[i] * shape[i];
    for (int64_t axis : axes) {
      const int64_t size = shape[static_cast<size_t>(axis)], stride = dense[static_cast<size_t>(axis)];
      if (size == 1) continue;
      if (!sizes.empty() && strides.back() == stride * size) {
        sizes.back() *= size;
        strides.back() = stride;
      } else {
        sizes.push_back(size);
        strides.push_back(stride);
      }
    }
    if (sizes.empty()) {
      sizes.push_back(1);
      strides.push_back(1);
    }
  }
  /// The input offset of index i, counted through all axes before `axis`.
  int64_t offset(int64_t i, size_t axis) const {
    int64_t at = 0;
    for (size_t a = axis; a-- > 0; i /= sizes[a]) at += i % sizes[a] * strides[a];
    return at;
  }
  /// Returns whether an axis that is transposed is too short to fill squares.
  bool is_narrow() const {
    size_t inner = 0;
    while (strides[inner] != 1) ++inner;
    return sizes.back() <= 4 || sizes[inner] <= 4;
  }
  int64_t product(size_t first, size_t last) const {
    int64_t n = 1;
    for (size_t a = first; a < last; ++a) n *= sizes[a];
    return n;
  }
};

/// The last axis stays last: whole rows are copied.
void copy_rows(const char* from, char* to, const Walk& w, size_t element, KernelContext& c) {
  const size_t last = w.sizes.size() - 1;
  const int64_t row = w.sizes[last];
  if (last == 0) {
    c.parallel(row, piece_elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += piece_elements) {
        c.poll();
        const size_t at = static_cast<size_t>(i) * element;
        std::memcpy(to + at, from + at, static_cast<size_t>(std::min(piece_elements, end - i)) * element);
      }
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, piece_elements / row);
  c.parallel(w.product(0, last), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      std::memcpy(to + static_cast<size_t>(i * row) * element,
                  from + static_cast<size_t>(w.offset(i, last)) * element,
                  static_cast<size_t>(row) * element);
    }
  });
}

/// Transposes element by element, if there are no vectors for the type or too few elements to fill them.
template <class T>
void transpose_by_element(const T* from, int64_t stride, T* to, int64_t row_step, int64_t width,
                          int64_t height) {
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) to[y * row_step + x] = from[x * stride + y];
}

/// Transposes small elements in squares, and element by element where squares are not whole.
template <class T>
void transpose_small(const T* from, int64_t stride, T* to, int64_t row_step, int64_t width, int64_t height) {
  constexpr int64_t n = transpose_side<T>;
  const int64_t columns = width / n * n, rows = height / n * n;
  for (int64_t y = 0; y < rows; y += n)
    for (int64_t x = 0; x < columns; x += n)
      lathe::cpu::transpose_tile(from + x * stride + y, stride, to + y * row_step + x, row_step);
  transpose_by_element(from + columns * stride, stride, to + columns, row_step, width - columns, height);
  transpose_by_element(from + rows, stride, to + rows * row_step, row_step, columns, height - rows);
}

/// The input's last axis is output axis `inner`, not the last: transpose_part(from, stride, to, row_step,
/// width, height) transposes squares of these two axes.
template <class T, class Transpose>
void transpose_squares(const T* from, T* to, const Walk& w, KernelContext& c, Transpose&& transpose_part) {
  const size_t last = w.sizes.size() - 1;
  size_t inner = 0;
  while (w.strides[inner] != 1) ++inner;
  const int64_t rows = w.sizes[inner], columns = w.sizes[last], stride = w.strides[last];
  const int64_t row_step = w.product(inner + 1, last + 1);  // in the output
  const int64_t band = rows <= 2 * square ? rows : square;
  // Elements of 32 bits are transposed in vectors; with other elements, long squares leave the cache before
  // their lines are full.
  const int64_t wide = sizeof(T) == sizeof(uint32_t) && stride <= row_step ? long_square : square;
  const int64_t down = (rows + band - 1) / band, between = w.product(inner + 1, last);
  // A piece is a band of rows (all of them if that is little more) and some columns under one index of all
  // other axes. Long rows are cut, so that few bands keep all threads busy, and bands that read the same
  // lines follow each other.
  const int64_t whole = std::max(piece_elements / band / wide, int64_t{1}) * wide;
  const int64_t across = std::min(columns, whole), cuts = (columns + across - 1) / across;
  const int64_t grain = std::max<int64_t>(1, piece_elements / (band * across));
  c.parallel(w.product(0, inner) * cuts * down * between, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      const int64_t middle = i % between, first = i / between % down * band, cut = i / between / down % cuts,
                    outer = i / between / down / cuts;
      const int64_t height = std::min(band, rows - first), until = std::min(columns, (cut + 1) * across);
      int64_t at = w.offset(outer, inner) + first, index = middle;
      for (size_t a = last; a-- > inner + 1; index /= w.sizes[a]) at += index % w.sizes[a] * w.strides[a];
      T* const out = to + (outer * rows + first) * row_step + middle * columns;
      for (int64_t x = cut * across; x < until; x += wide)
        transpose_part(from + at + x * stride, stride, out + x, row_step, std::min(wide, until - x), height);
    }
  });
}

/// Elements of 32 bits are moved as floats in vectors, whatever their type.
void transpose_u32(const TransposeKernels& k, const uint32_t* from, uint32_t* to, const Walk& w,
                   KernelContext& c) {
  transpose_squares(
      from, to, w, c,
      [&](const uint32_t* p, int64_t stride, uint32_t* q, int64_t row_step, int64_t width, int64_t height) {
        if (std::min(width, height) < k.width / 2)
          return transpose_by_element(p, stride, q, row_step, width, height);
        k.transpose(reinterpret_cast<const float*>(p), stride, reinterpret_cast<float*>(q), row_step, width,
                    height);
      });
}

}  // namespace

void transpose(Isa isa, const void* from, void* to, const Shape& shape, const Shape& axes,
               size_t element_bytes, KernelContext& c) {
  if (count_of(shape) == 0) return;
  const Walk w(shape, axes);
  if (w.strides.back() == 1)
    return copy_rows(static_cast<const char*>(from), static_cast<char*>(to), w, element_bytes, c);
  if (w.is_narrow()) return move({from, w.strides}, to, row_major(w.sizes), w.sizes, element_bytes, c);
  auto move_type = [&]<class T>(T) {
    if constexpr (sizeof(T) < sizeof(uint32_t))
      transpose_squares(static_cast<const T*>(from), static_cast<T*>(to), w, c, transpose_small<T>);
    else
      transpose_squares(static_cast<const T*>(from), static_cast<T*>(to), w, c, transpose_by_element<T>);
  };
  switch (element_bytes) {
    case 1:
      return move_type(uint8_t{});
    case 2:
      return move_type(uint16_t{});
    case 4:
      return transpose_u32(transpose_kernels(isa), static_cast<const uint32_t*>(from),
                           static_cast<uint32_t*>(to), w, c);
    case 8:
      return move_type(uint64_t{});
    default:
      return move_type(std::array<uint64_t, 2>{});
  }
}

}  // namespace lathe::cpu
