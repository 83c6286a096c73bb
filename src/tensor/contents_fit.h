// Contents that are followed from value to value may be handed on by a node whose output has another shape:
// they are then nobody's.
#pragma once

#include <algorithm>
#include <vector>

#include "lathe/dim.h"
#include "tensor/contents.h"

namespace lathe {

/// Has a tensor of this shape so many elements, as far as is known for sure?
template <class D>
bool contents_fit(const std::vector<D>& shape, size_t elements) {
  int64_t count = 1;
  for (const D& d : shape) {
    const auto n = known(d);
    if (!n || *n < 0) return false;
    // More than are ever followed is as good as any number, until an axis of no elements ends it.
    count = *n > max_tracked_values ? (count == 0 ? 0 : max_tracked_values + 1)
                                    : std::min(count * *n, max_tracked_values + 1);
  }
  return count == static_cast<int64_t>(elements);
}

}  // namespace lathe
