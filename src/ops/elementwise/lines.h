// Lines: the elements of a tensor along one axis, for kernels that work on one line at a time.
#pragma once

#include "ops/elementwise/lanes.h"

namespace lathe {

/// A tensor seen as [outer, size, inner], where `size` is the axis.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;
  Lines(const Shape& shape, int64_t axis) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t a = axis < 0 ? axis + rank : axis;
    for (int64_t i = 0; i < rank; ++i)
      (i < a ? outer : i == a ? size : inner) *= shape[static_cast<size_t>(i)];
  }
  int64_t count() const { return outer * inner; }
  /// Offset of the first element of a line; the next ones follow at a distance of `inner`.
  int64_t first(int64_t line) const { return line / inner * inner * size + line % inner; }
};

/// Reads and writes elements [begin, end) of one line, which begins at `data`.
template <class L>
void load_line(const Tensor& t, const Lines& lines, int64_t line, int64_t begin, int64_t end, L* data) {
  if (lines.inner == 1) return load_lanes(t, lines.first(line) + begin, end - begin, data + begin);
  for (int64_t i = begin; i < end; ++i) load_lanes(t, lines.first(line) + i * lines.inner, 1, data + i);
}
template <class L>
void store_line(Tensor& t, const Lines& lines, int64_t line, int64_t begin, int64_t end, const L* data) {
  if (lines.inner == 1) return store_lanes(t, lines.first(line) + begin, end - begin, data + begin);
  for (int64_t i = begin; i < end; ++i) store_lanes(t, lines.first(line) + i * lines.inner, 1, data + i);
}

/// Calls f(begin, end) over lines, in pieces of some thousand elements.
inline void parallel_lines(KernelContext& c, const Lines& lines, FunctionRef<void(int64_t, int64_t)> f) {
  c.parallel(lines.count(), std::max<int64_t>(4096 / std::max<int64_t>(lines.size, 1), 1), f);
}

/// Calls f<L>() with the lane of an element type: double, int64_t or uint64_t.
template <class F>
void with_lane(DataType t, F&& f) {
  if (is_float(t))
    f.template operator()<double>();
  else if (is_signed_integer(t))
    f.template operator()<int64_t>();
  else
    f.template operator()<uint64_t>();
}

}  // namespace lathe
