// The axis that input 1 of CumSum and CumProd names.
#pragma once

#include "ops/movement.h"

namespace lathe {

/// Counted from the front. Fails with run_bad_shape or run_bad_index.
inline size_t cumulative_axis(KernelContext& c) {
  if (c.in(1).size() != 1) c.fail(Code::run_bad_shape, "one axis", describe(c.in(1)));
  return static_cast<size_t>(checked_index(c, index_at(c.in(1), 0), static_cast<int64_t>(c.in(0).rank())));
}

}  // namespace lathe
