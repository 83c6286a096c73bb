// The offsets of the parts of a Concat in its output, for its kernels.
#pragma once

#include "ops/concat/concat.h"
#include "ops/movement.h"

namespace lathe {

/// Calls f(part, offset along the axis) for every input, checked to fit `out`.
template <class F>
void for_each_concat_part(KernelContext& c, size_t axis, const Shape& out, F&& f) {
  int64_t offset = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Shape& part = c.in(i).shape();
    Shape expected = out;
    if (part.size() == out.size()) expected[axis] = part[axis];
    if (!(part == expected) || part[axis] > out[axis] - offset)
      c.fail(Code::run_bad_shape, "an input of shape " + describe(expected), describe(part));
    f(c.in(i), offset);
    offset += part[axis];
  }
  if (offset != out[axis])
    c.fail(Code::run_bad_shape,
           "sizes along axis " + std::to_string(axis) + " that add up to " + std::to_string(out[axis]),
           std::to_string(offset));
}

}  // namespace lathe
