// The sizes of UpdateCache in a run, for its kernels.
#pragma once

#include <algorithm>

#include "ops/movement.h"
#include "ops/state/state.h"

namespace lathe {

/// The cache is [outer, old_size, inner] in memory of `old_stride` indices along the axis, what is made of it
/// [outer, size, inner] in memory of `stride`; `rows` of them are written.
struct CacheUpdate {
  int64_t outer = 1, inner = 1, old_size, size, rows, old_stride, stride;

  CacheUpdate(const UpdateCache& op, KernelContext& c) : batch_(c.in(0).dim(0)), starts_(c.in(2)) {
    const Tensor &old = c.in(0), &made = c.out(0), &added = c.in(1);
    const size_t axis = axis_of(op.axis, made.rank());
    old_size = old.dim(axis);
    size = made.dim(axis);
    rows = added.dim(axis);
    const int64_t capacity = c.capacity(0);
    old_stride = capacity > 0 ? capacity : old_size;
    stride = capacity > 0 && old.data() == made.data() ? capacity : size;
    for (size_t a = 0; a < made.rank(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= made.dim(a);
    Shape expected = made.shape();
    expected[axis] = rows = std::min(rows, size);
    if (!(added.shape() == expected))
      c.fail(Code::run_bad_shape, "rows of shape " + describe(expected), describe(added));
    if (starts_.size() != batch_)
      c.fail(Code::run_bad_shape, std::to_string(batch_) + " indices", std::to_string(starts_.size()));
    if (added.size() == 0) return;
    for (int64_t i = 0; i < batch_; ++i)
      if (const int64_t at = index_at(starts_, i); at < 0 || at > size - rows)
        c.fail(Code::run_bad_index, "a write index in [0, " + std::to_string(size - rows) + "]",
               std::to_string(at));
  }
  /// The first index along the axis that is written for this outer one.
  int64_t first(int64_t o) const { return rows > 0 ? index_at(starts_, o / (outer / batch_)) : 0; }

 private:
  int64_t batch_;
  const Tensor& starts_;
};

}  // namespace lathe
