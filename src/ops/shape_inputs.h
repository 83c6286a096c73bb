// How shape rules read inputs that hold sizes and axes.
#pragma once

#include <algorithm>

#include "tensor/dim_math.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// The sizes as numbers, if all are known.
template <class D>
std::optional<Shape> known_shape(const std::vector<D>& sizes) {
  Shape shape;
  for (const D& d : sizes) {
    const auto n = known(d);
    if (!n) return std::nullopt;
    shape.push_back(*n);
  }
  return shape;
}

/// Declares an output of known rank and unknown sizes; at run time the sizes are always known.
template <class D>
void output_of_rank(ShapeContext<D>& c, int64_t rank) {
  // A scalar has no unknown sizes, but whether the operands fit is unknown.
  if (!c.data_dependent()) return;
  std::vector<D> shape;
  for (int64_t i = 0; i < rank; ++i) {
    auto d = c.data_dependent();
    if (!d) return;
    shape.push_back(*d);
  }
  c.output(0, std::move(shape));
}

/// The number of sizes in a 1-D input, if it is known.
template <class D>
std::optional<int64_t> count_of_sizes(const ShapeContext<D>& c, size_t input) {
  c.require(c.rank(input) == 1, "sizes of rank 1", "rank " + std::to_string(c.rank(input)));
  const auto count = known(c.shape(input)[0]);
  c.require(!count || *count <= static_cast<int64_t>(max_rank),
            "at most " + std::to_string(max_rank) + " sizes", to_text(c.shape(input)[0]));
  return count;
}

/// The sizes that an input holds, none of them negative; null if they are not known.
template <class D>
const std::vector<D>* sizes_input(const ShapeContext<D>& c, size_t input) {
  const auto* sizes = c.values(input);
  if (sizes)
    for (const D& d : *sizes) {
      const auto n = known(d);
      if (n && *n < 0) c.fail(Code::node_bad_value, "sizes that are not negative", c.text(*sizes), {});
    }
  return sizes;
}

/// The axes that an input names, sorted, within [0, rank); nothing if they are not known yet.
template <class D>
std::optional<std::vector<int64_t>> axes_input(const ShapeContext<D>& c, size_t input, int64_t rank) {
  auto axes = c.numbers(input);
  if (!axes) return std::nullopt;
  for (int64_t& a : *axes) a = c.axis(a, rank, "axes");
  std::sort(axes->begin(), axes->end());
  const auto twice = std::adjacent_find(axes->begin(), axes->end());
  if (twice != axes->end())
    c.fail(Code::node_bad_value, "axes that differ from each other",
           "axis " + std::to_string(*twice) + " twice", {});
  return axes;
}

}  // namespace lathe
