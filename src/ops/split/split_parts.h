// The parts into which a Split cuts its input in a run, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/split/split.h"

namespace lathe {

/// Calls f(output, offset along the axis) for every output that is used, made with its shape.
template <class F>
void for_each_split_part(KernelContext& c, size_t axis, bool parts_differ, F&& f) {
  const Tensor& in = c.in(0);
  // Outputs that are not used have no shape; the offsets of the others follow from the sizes.
  const bool given = c.has(1);
  const int64_t total = in.dim(axis), count = static_cast<int64_t>(c.outputs());
  if (!given && !parts_differ && total % count != 0)
    c.fail(Code::run_bad_shape, "an axis that " + std::to_string(count) + " divides", std::to_string(total));
  if (given && c.in(1).size() != count)
    c.fail(Code::run_bad_shape, std::to_string(count) + " sizes of parts", std::to_string(c.in(1).size()));
  int64_t offset = 0;
  for (size_t i = 0; i < c.outputs(); ++i) {
    const int64_t size =
        given ? load_int(c.in(1), static_cast<int64_t>(i)) : std::min(ceil_div(total, count), total - offset);
    if (size < 0 || size > total - offset)
      c.fail(Code::run_bad_value, "parts within an axis of " + std::to_string(total), std::to_string(size));
    if (c.wants(i)) {
      Shape shape = in.shape();
      shape[axis] = size;
      f(c.out(i, in.type(), shape), offset);
    }
    offset += size;
  }
}

}  // namespace lathe
