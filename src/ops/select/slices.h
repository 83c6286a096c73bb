// The slices from which Compress and Unique select.
#pragma once

#include <optional>

#include "ops/movement.h"

namespace lathe {

/// A tensor seen as [outer, count, inner], where slices of the middle axis are selected; without an axis all
/// elements are on it.
struct PickedSlices {
  int64_t outer = 1, count = 1, inner = 1;
  PickedSlices(const Tensor& t, const std::optional<int64_t>& axis) {
    if (!axis) {
      count = t.size();
      return;
    }
    const size_t at = axis_of(*axis, t.rank());
    count = t.dim(at);
    for (size_t a = 0; a < t.rank(); ++a)
      if (a != at) (a < at ? outer : inner) *= t.dim(a);
  }
  /// The tensor's shape with `slices` slices.
  static Shape shape(const Tensor& t, const std::optional<int64_t>& axis, int64_t slices) {
    if (!axis) return {slices};
    Shape s = t.shape();
    s[axis_of(*axis, t.rank())] = slices;
    return s;
  }
};

}  // namespace lathe
