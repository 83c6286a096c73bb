// The view of its input that a Slice takes in a run, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/slice/slice.h"

namespace lathe {

/// The part of the input that a Slice keeps: its offset, and its sizes and strides in the input.
struct SliceView {
  int64_t offset = 0;
  Shape shape, strides;
};

inline SliceView slice_view(const KernelContext& c) {
  const Tensor& in = c.in(0);
  SliceView v{0, in.shape(), row_major(in.shape())};
  const int64_t n = c.in(1).size();
  for (size_t i = 2; i < c.inputs(); ++i)
    if (c.has(i) && c.in(i).size() != n)
      c.fail(Code::run_bad_shape, std::to_string(n) + " starts, ends, axes and steps",
             std::to_string(c.in(i).size()));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t named = c.has(3) ? load_int(c.in(3), i) : i, step = c.has(4) ? load_int(c.in(4), i) : 1;
    const auto axis = static_cast<size_t>(checked_index(c, named, static_cast<int64_t>(in.rank())));
    if (step == 0) c.fail(Code::run_bad_value, "steps other than 0", "0");
    const SliceRange r = slice_range(in.dim(axis), load_int(c.in(1), i), load_int(c.in(2), i), step);
    v.offset += r.count > 0 ? r.start * v.strides[axis] : 0;
    v.strides[axis] = r.count > 1 ? v.strides[axis] * r.step : 0;
    v.shape[axis] = r.count;
  }
  return v;
}

}  // namespace lathe
