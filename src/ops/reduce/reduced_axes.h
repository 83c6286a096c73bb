// The axes that Reduce* removes, from the inputs of a run.
#pragma once

#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe {

/// The axes that are reduced.
using AxisFlags = InlineVector<bool, 8>;
inline AxisFlags reduced_axes(const KernelContext& c, size_t rank, bool noop_with_empty_axes) {
  const int64_t count = c.has(1) ? c.in(1).size() : 0;
  AxisFlags reduced(rank, count == 0 && !noop_with_empty_axes);
  const auto r = static_cast<int64_t>(rank);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t a = load_int(c.in(1), i);
    if (a < -r || a >= r)
      c.fail(Code::run_bad_value, "axes in [" + std::to_string(-r) + ", " + std::to_string(r) + ")",
             std::to_string(a));
    reduced[static_cast<size_t>(a < 0 ? a + r : a)] = true;
  }
  return reduced;
}

/// The output, of the type of the input.
inline Tensor& reduced_output(KernelContext& c, const AxisFlags& reduced, bool keepdims) {
  const Tensor& in = c.in(0);
  Shape shape;
  for (size_t a = 0; a < in.rank(); ++a) {
    if (!reduced[a])
      shape.push_back(in.dim(a));
    else if (keepdims)
      shape.push_back(1);
  }
  return c.out(0, in.type(), shape);
}

}  // namespace lathe
