#include "cpu/move.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lathe::cpu {
namespace {

/// Elements between polls, and of a piece worth another thread.
constexpr int64_t piece_elements = 16384;

/// The axes that are left when those of size 1 are gone and neighbours that run on in both are joined.
struct Walk {
  Shape sizes, from, to;  // innermost first

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
    if (!sizes.empty()) return;
    sizes.push_back(1);
    from.push_back(1);
    to.push_back(1);
  }
};

/// One run along the innermost axis.
template <class T>
void move_run(const T* __restrict from, int64_t from_step, T* __restrict to, int64_t to_step, int64_t n) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (from_step == 0 && to_step == 1) {
    std::fill_n(to, n, *from);
  } else if (from_step == 2 && to_step == 1) {  // known to the compiler, it becomes vectors
    for (int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

/// Elements [begin, end) of the walk, counted in its order.
template <class T>
void move_piece(const Walk& w, const T* from, T* to, int64_t begin, int64_t end) {
  const size_t rank = w.sizes.size();
  Shape index(rank, 0);
  int64_t rest = begin;
  for (size_t a = 0; a < rank; ++a) {
    index[a] = rest % w.sizes[a];
    rest /= w.sizes[a];
    from += index[a] * w.from[a];
    to += index[a] * w.to[a];
  }
  while (begin < end) {
    const int64_t n = std::min(w.sizes[0] - index[0], end - begin);
    move_run(from, w.from[0], to, w.to[0], n);
    begin += n;
    index[0] += n;
    from += n * w.from[0];
    to += n * w.to[0];
    for (size_t a = 0; a + 1 < rank && index[a] == w.sizes[a]; ++a) {
      from += w.from[a + 1] - w.sizes[a] * w.from[a];
      to += w.to[a + 1] - w.sizes[a] * w.to[a];
      index[a] = 0;
      ++index[a + 1];
    }
  }
}

}  // namespace

void move(const View& from, void* to, const Shape& to_strides, const Shape& shape, size_t element_bytes,
          KernelContext& c) {
  const int64_t count = count_of(shape);
  if (count == 0) return;
  const Walk w(shape, from.strides, to_strides);
  const auto elements = [&]<class T>(T) {
    c.parallel(count, piece_elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += piece_elements) {
        c.poll();
        move_piece(w, static_cast<const T*>(from.data), static_cast<T*>(to), i,
                   std::min(end, i + piece_elements));
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
