// Slice: a range with a step along each of some axes, after NumPy.
#pragma once

#include <algorithm>

#include "ops/shape_inputs.h"
#include "tensor/attributes.h"
#include "tensor/strides.h"

namespace lathe {

/// The elements that one axis keeps: `count` elements from `start` on, `step` apart.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};
/// Negative starts and ends count from the back; then both are clamped to the axis, as the standard requires.
inline SliceRange slice_range(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  SliceRange r{0, step, 0};
  if (step > 0) {
    r.start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
    r.count = end > r.start ? (end - r.start - 1) / step + 1 : 0;
  } else {
    r.start = std::min(std::max<int64_t>(start, 0), size - 1);
    end = std::min(std::max<int64_t>(end, -1), size - 1);
    // -(step + 1) cannot overflow; -step can.
    r.count = end < r.start ? static_cast<int64_t>(static_cast<uint64_t>(r.start - end - 1) /
                                                   (static_cast<uint64_t>(-(step + 1)) + 1)) +
                                  1
                            : 0;
  }
  return r;
}

struct Slice {
  void fields(auto&&) {}

  template <class D>
  void shape(ShapeContext<D>& c) const {
    for (size_t i = 1; i < c.inputs(); ++i)
      c.require(!c.has(i) || c.rank(i) == 1, "starts, ends, axes and steps of rank 1",
                "rank " + std::to_string(c.rank(i)));
    c.require(c.has(1) && c.has(2), "starts and ends", "none");
    std::vector<D> out = c.shape(0);
    const auto axes = slice_axes(c);
    const std::vector<D>*starts = c.values(1), *ends = c.values(2);
    const auto steps = c.numbers(4);
    for (size_t i : {size_t{1}, size_t{2}, size_t{3}, size_t{4}})
      if (c.has(i))
        c.same(axes ? D(static_cast<int64_t>(axes->size())) : c.shape(1)[0], c.shape(i)[0],
               "the numbers of starts, ends, axes and steps");
    for (size_t k = 0; k < out.size(); ++k) {
      const auto at =
          axes ? std::find(axes->begin(), axes->end(), static_cast<int64_t>(k)) - axes->begin() : 0;
      if (axes && at == static_cast<int64_t>(axes->size())) continue;
      const auto i = static_cast<size_t>(at);
      std::optional<D> count;
      if (axes && starts && ends && (steps || !c.has(4))) {
        c.require(starts->size() == axes->size() && ends->size() == axes->size() &&
                      (!steps || steps->size() == axes->size()),
                  std::to_string(axes->size()) + " starts, ends and steps",
                  c.text(*starts) + " and " + c.text(*ends));
        const int64_t step = steps ? (*steps)[i] : 1;
        if (step == 0) c.fail(Code::node_bad_value, "steps other than 0", "0", {});
        count = size_after(out[k], (*starts)[i], (*ends)[i], step);
      }
      if (!count || c.bounding()) count = c.data_dependent(out[k]);
      if (!count) return;
      out[k] = *count;
    }
    values(c, axes);
    c.output(0, std::move(out));
  }

  /// The axes that are sliced, made non-negative; nothing if they are not known.
  template <class D>
  static std::optional<std::vector<int64_t>> slice_axes(const ShapeContext<D>& c) {
    if (c.has(3)) {
      auto axes = c.numbers(3);
      if (!axes) return std::nullopt;
      for (size_t i = 0; i < axes->size(); ++i) {
        (*axes)[i] = c.axis((*axes)[i], c.rank(0), "axes");
        if (std::find(axes->begin(), axes->begin() + static_cast<int64_t>(i), (*axes)[i]) !=
            axes->begin() + static_cast<int64_t>(i))
          c.fail(Code::node_bad_value, "axes that differ from each other",
                 "axis " + std::to_string((*axes)[i]) + " twice", {});
      }
      return axes;
    }
    const auto count = known(c.shape(1)[0]);
    if (!count) return std::nullopt;
    c.require(*count <= c.rank(0), "at most " + std::to_string(c.rank(0)) + " starts",
              std::to_string(*count));
    std::vector<int64_t> axes;
    for (int64_t a = 0; a < *count; ++a) axes.push_back(a);
    return axes;
  }

 private:
  static std::optional<int64_t> size_after(int64_t size, int64_t start, int64_t end, int64_t step) {
    return slice_range(size, start, end, step).count;
  }
  /// Nothing if it depends on the sign of something unknown.
  static std::optional<Dim> size_after(const Dim& size, const Dim& start, const Dim& end, int64_t step) {
    if (size.value() && start.value() && end.value())
      return Dim(slice_range(*size.value(), *start.value(), *end.value(), step).count);
    const auto first = start.value();
    if (step < 0) {
      // Whole axis reversed: all that exporters write with symbolic sizes.
      const bool whole =
          first && (*first == -1 || *first >= beyond) && end.value() && *end.value() <= -beyond;
      return whole ? std::optional(ceil_div(size, Dim(step == INT64_MIN ? INT64_MAX : -step))) : std::nullopt;
    }
    const auto from = clamped(start, size), to = clamped(end, size);
    if (!from || !to) return std::nullopt;
    if (*to == size && first && *first < 0 && *first > -beyond)
      return ceil_div(min(size, Dim(-*first)), Dim(step));  // the last so many
    // With an end at the size, one clamp suffices: size - min(start, size) = max(size - start, 0).
    const bool counts_from_start = *to == size && surely_at_least(start, 0) && !(first && *first >= beyond);
    const Dim length = counts_from_start ? size - start : *to - *from;
    return ceil_div(surely_at_least(length, 0) ? length : max(length, Dim(0)), Dim(step));
  }
  /// No axis of unknown size is taken to be longer than this: exporters write INT32_MAX for "to the end".
  static constexpr int64_t beyond = INT32_MAX;
  static std::optional<Dim> clamped(const Dim& at, const Dim& size) {
    if (const auto n = at.value()) {
      if (*n >= beyond) return size;
      if (*n <= -beyond) return Dim(0);
      if (*n < 0) return max(size + at, Dim(0));
      return *n == 0 ? Dim(0) : min(at, size);
    }
    if (surely_at_least(at, 0)) return min(at, size);
    return std::nullopt;
  }
  template <class D>
  static void values(ShapeContext<D>& c, const std::optional<std::vector<int64_t>>& axes) {
    const auto* all = c.values(0);
    const auto starts = c.numbers(1), ends = c.numbers(2), steps = c.numbers(4);
    if (!all || !axes || !starts || !ends || (c.has(4) && !steps)) return;
    auto shape = known_shape(c.shape(0));
    if (!shape) return;
    Shape strides = row_major(*shape);
    int64_t offset = 0;
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto a = static_cast<size_t>((*axes)[i]);
      const SliceRange r = slice_range((*shape)[a], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
      if (r.count > 0) offset += r.start * strides[a];
      strides[a] = r.count > 1 ? strides[a] * r.step : 0;
      (*shape)[a] = r.count;
    }
    c.output_values(0, strided_elements(*all, *shape, strides, offset));
  }
};

}  // namespace lathe
