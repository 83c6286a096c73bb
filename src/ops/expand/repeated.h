// The repeated reads of the input by Expand and Tile, for their kernels.
#pragma once

#include "ops/expand/expand.h"
#include "ops/movement.h"

namespace lathe {

/// The output in axes along each of which the input advances evenly, or stands still.
struct Repeated {
  Shape shape, strides;  // strides: of the input
};

inline Repeated repeated(const Expand&, KernelContext& c) {
  const Shape &in = c.in(0).shape(), &out = c.out(0).shape();
  const Shape dense = row_major(in);
  Repeated r{out, Shape(out.size(), 0)};
  for (size_t a = 0; a < in.size(); ++a) {
    const size_t to = a + out.size() - in.size();
    if (in[a] != 1 && in[a] != out[to])
      c.fail(Code::run_bad_shape, "shapes that broadcast", describe(in) + " and " + describe(out));
    r.strides[to] = in[a] == 1 ? 0 : dense[a];
  }
  return r;
}

/// Every axis becomes two, the outer one of which stands still in the input.
inline Repeated repeated(const Tile&, KernelContext& c) {
  const Shape &in = c.in(0).shape(), &out = c.out(0).shape();
  const Shape dense = row_major(in);
  Repeated r;
  if (count_of(out) == 0) return {out, Shape(out.size(), 0)};
  for (size_t a = 0; a < in.size(); ++a) {
    if (in[a] == 0 || out[a] % in[a] != 0)
      c.fail(Code::run_bad_shape, "sizes that repeat " + describe(in), describe(out));
    for (int64_t size : {out[a] / in[a], in[a]}) r.shape.push_back(size);
    for (int64_t stride : {int64_t{0}, dense[a]}) r.strides.push_back(stride);
  }
  return r;
}

}  // namespace lathe
