// A node may pass on known contents although its output has another shape: the contents are then dropped.
#pragma once

#include <algorithm>
#include <vector>

#include "lathe/dim.h"
#include "tensor/contents.h"

namespace lathe {

/// Returns whether a tensor of this shape surely has so many elements.
template <class D>
bool contents_fit(const std::vector<D>& shape, size_t elements) {
  int64_t count = 1;
  for (const D& d : shape) {
    const auto n = known(d);
    if (!n || *n < 0) return false;
    // Counts beyond the limit are not distinguished, unless a later axis has no elements.
    count = *n > max_tracked_values ? (count == 0 ? 0 : max_tracked_values + 1)
                                    : std::min(count * *n, max_tracked_values + 1);
  }
  return count == static_cast<int64_t>(elements);
}

}  // namespace lathe
