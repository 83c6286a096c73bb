// The positions to which MaxUnpool moves elements, for its kernels.
#pragma once

#include "ops/compute.h"
#include "ops/pool/pool.h"

namespace lathe {

/// Indices count the elements of the output that the attributes imply; a larger output that output_shape
/// requests has that one in its first corner.
struct UnpoolOffsets {
  Shape shape;  // of the output

  UnpoolOffsets(const MaxUnpool& op, KernelContext& c) : c_(c), implied_(op.implied_shape(c.in(0).shape())) {
    shape = implied_;
    if (c.has(2)) {
      shape.clear();
      for (int64_t d : integers_of(c.in(2), c)) shape.push_back(d);
    }
    count_ = checked_count(implied_, c.in(0).type(), "the unpooled output");
    same_ = shape == implied_;
  }
  int64_t operator()(int64_t index) const {
    if (index < 0 || index >= count_)
      c_.fail(Code::run_bad_index, "indices in [0, " + std::to_string(count_) + ")", std::to_string(index));
    if (same_) return index;
    int64_t at = 0, rest = index, stride = 1;
    for (size_t k = shape.size(); k-- > 0; rest /= implied_[k], stride *= shape[k]) {
      const int64_t position = rest % implied_[k];
      if (position >= shape[k])
        c_.fail(Code::run_bad_index, "indices within output_shape " + describe(shape), std::to_string(index));
      at += position * stride;
    }
    return at;
  }

 private:
  const KernelContext& c_;
  Shape implied_;
  int64_t count_;
  bool same_;
};

}  // namespace lathe
