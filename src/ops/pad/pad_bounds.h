// The pads of each axis in a run of Pad, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/pad/pad.h"

namespace lathe {

/// Pads by axis of the input; negative ones remove elements.
struct PadBounds {
  Shape begin, end;
};

inline PadBounds pad_bounds(KernelContext& c) {
  const size_t rank = c.in(0).rank();
  PadBounds p{Shape(rank, 0), Shape(rank, 0)};
  const int64_t n = c.has(3) ? c.in(3).size() : static_cast<int64_t>(rank);
  if (c.in(1).size() != 2 * n)
    c.fail(Code::run_bad_shape, std::to_string(2 * n) + " pads", std::to_string(c.in(1).size()));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t named = c.has(3) ? load_int(c.in(3), i) : i;
    const auto axis = static_cast<size_t>(checked_index(c, named, static_cast<int64_t>(rank)));
    p.begin[axis] = load_int(c.in(1), i);
    p.end[axis] = load_int(c.in(1), n + i);
  }
  return p;
}

inline Tensor& padded_output(const PadBounds& p, KernelContext& c) {
  Shape shape = c.in(0).shape();
  for (size_t a = 0; a < shape.size(); ++a) shape[a] = plus(plus(shape[a], p.begin[a]), p.end[a]);
  return c.out(0, c.in(0).type(), shape);
}

}  // namespace lathe
