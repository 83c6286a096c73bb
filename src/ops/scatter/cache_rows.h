// Rows that are written into a KV cache: TensorScatter, and UpdateCache, whose cache gets longer first.
#pragma once

#include <algorithm>

#include "ops/movement.h"

namespace lathe {

/// The cache is [outer, old_size, inner] in memory of `old_stride` indices along the axis, what is made of it
/// [outer, size, inner] in memory of `stride`; `rows` of its indices are written. Inputs of the kernel:
/// cache, rows, and the index at which those of each sample begin [batch], which may be left out: 0.
struct CacheRows {
  int64_t outer = 1, inner = 1, old_size, size, rows, old_stride, stride;
  bool circular;  // rows beyond the end are written from the start

  CacheRows(KernelContext& c, int64_t axis_attribute, bool in_circles = false)
      : circular(in_circles), batch_(c.in(0).dim(0)), starts_(c.has(2) ? &c.in(2) : nullptr) {
    const Tensor &old = c.in(0), &made = c.out(0), &added = c.in(1);
    const size_t axis = axis_of(axis_attribute, made.rank());
    old_size = old.dim(axis);
    size = made.dim(axis);
    const int64_t capacity = c.capacity(0);  // of a state
    old_stride = capacity > 0 ? capacity : old_size;
    stride = capacity > 0 && old.data() == made.data() ? capacity : size;
    for (size_t a = 0; a < made.rank(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= made.dim(a);
    Shape expected = made.shape();
    expected[axis] = rows = std::min(added.dim(axis), size);
    if (!(added.shape() == expected))
      c.fail(Code::run_bad_shape, "an update of shape " + describe(expected), describe(added));
    if (!starts_) return;
    if (starts_->size() != batch_)
      c.fail(Code::run_bad_shape, std::to_string(batch_) + " write_indices", std::to_string(starts_->size()));
    if (added.size() == 0) return;
    for (int64_t i = 0; i < batch_; ++i)
      if (const int64_t at = index_at(*starts_, i); at < 0 || (!circular && at > size - rows))
        c.fail(Code::run_bad_index, "a write index in [0, " + std::to_string(size - rows) + "]",
               std::to_string(at));
  }
  /// The first index along the axis that is written for this outer one.
  int64_t first(int64_t o) const {
    const int64_t start = rows > 0 && starts_ ? index_at(*starts_, o / (outer / batch_)) : 0;
    return circular ? start % size : start;
  }

 private:
  int64_t batch_;
  const Tensor* starts_;  // null: all begin with the first index
};

/// Writes the rows, in place where the output is the cache, or rows that replace all of it. Indices that are
/// new and not written are zeros. Elements of whole bytes. (scatter_rows.cpu.cc)
void write_rows(const CacheRows& u, KernelContext& c);

}  // namespace lathe
