#include "cpu/transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/isa.h"
#include "cpu/move.h"
#include "cpu/turn.h"
#include "tensor/strides.h"

#define LATHE_ISA_BODY "cpu/transpose_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(TurnKernels, turn_kernels)

namespace {

/// Rows of several lines: what is read far apart comes with its neighbours (measured: three times faster than
/// two lines where rows are 25 KB apart), and so does what is written far apart, of which more lines in a row
/// go to memory faster (16 of them 1.3 to 1.8 times as fast as four).
constexpr int64_t square = 64, long_square = 4 * square;
/// Elements between polls, and of a piece worth another thread.
constexpr int64_t piece_elements = 16384;

/// The output's axes, with the distance of each in the input: axes of size 1 left out, neighbours that stay
/// together joined.
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
  /// Offset in the input of index i of the axes before `axis`, all of them counted through.
  int64_t offset(int64_t i, size_t axis) const {
    int64_t at = 0;
    for (size_t a = axis; a-- > 0; i /= sizes[a]) at += i % sizes[a] * strides[a];
    return at;
  }
  /// Is one of the axes that change places so short that elements in turn fill no square?
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

/// The last axis stays: rows are copied whole.
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

/// Element by element: where there are no vectors for it, or too few elements to fill them.
template <class T>
void turn_plainly(const T* from, int64_t stride, T* to, int64_t row_step, int64_t width, int64_t height) {
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) to[y * row_step + x] = from[x * stride + y];
}

/// The same of small elements in squares, plainly where these are not whole.
template <class T>
void turn_small(const T* from, int64_t stride, T* to, int64_t row_step, int64_t width, int64_t height) {
  constexpr int64_t n = turned_at_once<T>;
  const int64_t columns = width / n * n, rows = height / n * n;
  for (int64_t y = 0; y < rows; y += n)
    for (int64_t x = 0; x < columns; x += n)
      lathe::cpu::turn(from + x * stride + y, stride, to + y * row_step + x, row_step);
  turn_plainly(from + columns * stride, stride, to + columns, row_step, width - columns, height);
  turn_plainly(from + rows, stride, to + rows * row_step, row_step, columns, height - rows);
}

/// The input's last axis is output axis `inner`, not the last: squares of these two axes are turned by
/// turn(from, stride, to, row_step, width, height).
template <class T, class Turn>
void turn_squares(const T* from, T* to, const Walk& w, KernelContext& c, Turn&& turn) {
  const size_t last = w.sizes.size() - 1;
  size_t inner = 0;
  while (w.strides[inner] != 1) ++inner;
  const int64_t rows = w.sizes[inner], columns = w.sizes[last], stride = w.strides[last];
  const int64_t row_step = w.product(inner + 1, last + 1);  // in the output
  const int64_t band = rows <= 2 * square ? rows : square;
  // Words are turned in vectors; of others long squares leave the cache before their lines are full.
  const int64_t wide = sizeof(T) == sizeof(uint32_t) && stride <= row_step ? long_square : square;
  const int64_t down = (rows + band - 1) / band, between = w.product(inner + 1, last);
  // A piece is a band of rows (all of them where that is little more) and some columns under one index of all
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
        turn(from + at + x * stride, stride, out + x, row_step, std::min(wide, until - x), height);
    }
  });
}

/// Whatever the words are, vectors move them as if they were floats.
void turn_words(const TurnKernels& k, const uint32_t* from, uint32_t* to, const Walk& w, KernelContext& c) {
  turn_squares(
      from, to, w, c,
      [&](const uint32_t* p, int64_t stride, uint32_t* q, int64_t row_step, int64_t width, int64_t height) {
        if (std::min(width, height) < k.width / 2) return turn_plainly(p, stride, q, row_step, width, height);
        k.turn(reinterpret_cast<const float*>(p), stride, reinterpret_cast<float*>(q), row_step, width,
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
  auto turn = [&]<class T>(T) {
    if constexpr (sizeof(T) < sizeof(uint32_t))
      turn_squares(static_cast<const T*>(from), static_cast<T*>(to), w, c, turn_small<T>);
    else
      turn_squares(static_cast<const T*>(from), static_cast<T*>(to), w, c, turn_plainly<T>);
  };
  switch (element_bytes) {
    case 1:
      return turn(uint8_t{});
    case 2:
      return turn(uint16_t{});
    case 4:
      return turn_words(turn_kernels(isa), static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), w,
                        c);
    case 8:
      return turn(uint64_t{});
    default:
      return turn(std::array<uint64_t, 2>{});
  }
}

}  // namespace lathe::cpu
