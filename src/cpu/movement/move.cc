#include "cpu/movement/move.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/elementwise.h"

namespace lathe::cpu {
namespace {

/// Elements between polls, and of a piece worth another thread.
constexpr int64_t piece_elements = 16384;

/// The axes without those of size 1; neighboring axes that are contiguous in both tensors are merged.
struct Walk {
  Shape sizes, from, to;  // innermost first
  Shape span;             // elements of one index of each axis

  Walk(const Shape& shape, const Shape& from_strides, const Shape& to_strides) {
    for (size_t a = shape.size(); a-- > 0;) {
      const int64_t size = shape[a], f = from_strides[a], t = to_strides[a];
      if (size == 1) continue;
      if (!sizes.empty() && f == from.back() * sizes.back() && t == to.back() * sizes.back()) {
        sizes.back() *= size;
        continue;
      }
      sizes.push_back(size);
      from.push_back(f);
      to.push_back(t);
    }
    if (sizes.empty()) {
      sizes.push_back(1);
      from.push_back(1);
      to.push_back(1);
    }
    int64_t elements = 1;
    for (int64_t size : sizes) {
      span.push_back(elements);
      elements *= size;
    }
  }
  /// Returns whether the indices of an axis repeat a contiguous piece of the output.
  bool repeats(size_t axis) const { return from[axis] == 0 && to[axis] == span[axis] && dense(axis); }

 private:
  bool dense(size_t axis) const {
    for (size_t a = 0; a < axis; ++a)
      if (to[a] != span[a]) return false;
    return true;
  }
};

/// The most bytes that are copied faster without a call of memcpy.
constexpr size_t short_bytes = 256;

template <class T>
bool is_long(int64_t n) {
  return static_cast<size_t>(n) * sizeof(T) > short_bytes;
}

/// Copies in pieces, the last two of which may overlap.
template <size_t piece>
void copy_pieces(const char* from, char* to, size_t bytes) {
  const auto copy = [&](size_t at) {
    char some[piece];
    std::memcpy(some, from + at, piece);
    std::memcpy(to + at, some, piece);
  };
  for (size_t at = 0; at + piece < bytes; at += piece) copy(at);
  copy(bytes - piece);
}
template <class T>
void copy_run(const T* from, T* to, int64_t n) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(T);
  const auto* const f = reinterpret_cast<const char*>(from);
  auto* const t = reinterpret_cast<char*>(to);
  if (is_long<T>(n))
    std::memcpy(t, f, bytes);
  else if (bytes >= 16)
    copy_pieces<16>(f, t, bytes);
  else if (bytes >= 8)
    copy_pieces<8>(f, t, bytes);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Repeats one element. memcpy uses wider vectors than this code is compiled for.
template <class T>
void fill_run(const T& with, T* to, int64_t n) {
  constexpr int64_t some = 4096 / sizeof(T);
  std::fill_n(to, std::min(n, some), with);
  for (int64_t at = some; at < n; at += some)
    std::memcpy(to + at, to, static_cast<size_t>(std::min(some, n - at)) * sizeof(T));
}

/// Copies elements at a constant distance, which the compiler vectorizes if it knows the distance.
template <int64_t step, class T>
void pick_run(const T* __restrict from, T* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[step * i];
}

/// Runs of `n` elements along the innermost axis, `rows` of them along the next one, and `planes` of these.
struct Nest {
  int64_t n = 1, from_step = 1, to_step = 1;
  int64_t rows = 1, from_row = 0, to_row = 0;
  int64_t planes = 1, from_plane = 0, to_plane = 0;
};

/// Calls run(from, to) for every run.
template <class T, class Run>
void each_run(const Nest& w, const T* from, T* to, Run&& run) {
  for (int64_t p = 0; p < w.planes; ++p)
    for (int64_t r = 0; r < w.rows; ++r)
      run(from + p * w.from_plane + r * w.from_row, to + p * w.to_plane + r * w.to_row);
}

/// Moves short runs whose elements are far apart while those of neighboring runs are neighbors: copies one
/// element of each of `parts` places in turn.
template <int64_t parts, class T>
void move_zipped(const Nest& w, const T* from, T* to) {
  for (int64_t p = 0; p < w.planes; ++p) {
    const T* __restrict f = from + p * w.from_plane;
    T* __restrict t = to + p * w.to_plane;
    for (int64_t r = 0; r < w.rows; ++r)
      for (int64_t i = 0; i < parts; ++i) t[r * parts + i] = f[i * w.from_step + r];
  }
}

template <class T>
void move_runs(const Nest& w, const T* from, T* to) {
  if (w.to_step == 1 && w.from_row == 1 && w.to_row == w.n) switch (w.n) {
      case 2:
        return move_zipped<2>(w, from, to);
      case 3:
        return move_zipped<3>(w, from, to);
      case 4:
        return move_zipped<4>(w, from, to);
      case 8:
        return move_zipped<8>(w, from, to);
    }
  if (w.to_step == 1) switch (w.from_step) {
      case 0:
        return each_run(w, from, to, [&](const T* f, T* t) { fill_run(*f, t, w.n); });
      case 1:
        return each_run(w, from, to, [&](const T* f, T* t) { copy_run(f, t, w.n); });
      case 2:
        return each_run(w, from, to, [&](const T* f, T* t) { pick_run<2>(f, t, w.n); });
      case 3:
        return each_run(w, from, to, [&](const T* f, T* t) { pick_run<3>(f, t, w.n); });
      case 4:
        return each_run(w, from, to, [&](const T* f, T* t) { pick_run<4>(f, t, w.n); });
    }
  each_run(w, from, to, [&](const T* f, T* t) {
    for (int64_t i = 0; i < w.n; ++i) t[i * w.to_step] = f[i * w.from_step];
  });
}

/// Moves `count` indices of axis `top`, from `from` and `to` on, with all axes within it.
template <class T>
void move_nest(const Walk& w, size_t top, int64_t count, const T* from, T* to) {
  if (top > 0 && count > 1 && is_long<T>(w.span[top]) && w.repeats(top)) {
    move_nest(w, top - 1, w.sizes[top - 1], from, to);
    for (int64_t i = 1; i < count; ++i) copy_run(to, to + i * w.span[top], w.span[top]);
    return;
  }
  if (top > 2 || (top == 2 && is_long<T>(w.span[1]) && w.repeats(1))) {
    for (int64_t i = 0; i < count; ++i)
      move_nest(w, top - 1, w.sizes[top - 1], from + i * w.from[top], to + i * w.to[top]);
    return;
  }
  Nest n{.n = top == 0 ? count : w.sizes[0], .from_step = w.from[0], .to_step = w.to[0]};
  if (top > 0) {
    n.rows = top == 1 ? count : w.sizes[1];
    n.from_row = w.from[1];
    n.to_row = w.to[1];
  }
  if (top > 1) {
    n.planes = count;
    n.from_plane = w.from[2];
    n.to_plane = w.to[2];
  }
  move_runs(n, from, to);
}

/// Moves elements [begin, end), counted in the order of the walk.
template <class T>
void move_piece(const Walk& w, const T* from, T* to, int64_t begin, int64_t end) {
  const size_t rank = w.sizes.size();
  Shape index(rank, 0);
  for (size_t a = 0; a < rank; ++a) {
    index[a] = begin / w.span[a] % w.sizes[a];
    from += index[a] * w.from[a];
    to += index[a] * w.to[a];
  }
  while (begin < end) {
    // Takes as many axes at once as begin here and end within the piece.
    size_t top = 0;
    while (top + 1 < rank && index[top] == 0 && w.span[top + 1] <= end - begin) ++top;
    const int64_t count = std::min(w.sizes[top] - index[top], (end - begin) / w.span[top]);
    move_nest(w, top, count, from, to);
    begin += count * w.span[top];
    index[top] += count;
    from += count * w.from[top];
    to += count * w.to[top];
    for (size_t a = top; a + 1 < rank && index[a] == w.sizes[a]; ++a) {
      from += w.from[a + 1] - w.sizes[a] * w.from[a];
      to += w.to[a + 1] - w.sizes[a] * w.to[a];
      index[a] = 0;
      ++index[a + 1];
    }
  }
}

}  // namespace

void move(const View& from, void* to, const Shape& to_strides, const Shape& shape, size_t element_bytes,
          KernelContext& c, Epilogue* e) {
  const int64_t count = count_of(shape);
  if (count == 0) return;
  const Walk w(shape, from.strides, to_strides);
  const int64_t piece = e ? StreamingEpilogue::piece : piece_elements;
  const auto elements = [&]<class T>(T) {
    c.parallel(count, piece_elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += piece) {
        c.poll();
        const int64_t n = std::min(piece, end - i);
        move_piece(w, static_cast<const T*>(from.data), static_cast<T*>(to), i, i + n);
        if (e) e->apply(i, n);
      }
    });
  };
  switch (element_bytes) {
    case 1:
      return elements(uint8_t{});
    case 2:
      return elements(uint16_t{});
    case 4:
      return elements(uint32_t{});
    case 8:
      return elements(uint64_t{});
    default:
      return elements(std::array<uint64_t, 2>{});
  }
}

}  // namespace lathe::cpu
