// The axes that DepthToSpace and SpaceToDepth rearrange, for their kernels.
#pragma once

#include "ops/movement.h"
#include "ops/space/space.h"

namespace lathe {

/// The output in axes along each of which the input advances evenly. Empty without elements, because strides
/// may then not fit.
struct BlockAxes {
  Shape shape, strides;  // strides: of the input
};

/// Axes (n, c, h, y, w, x): channel c of the pixel (y, x) in block (h, w).
inline BlockAxes block_axes(const DepthToSpace& op, KernelContext& c) {
  if (c.out(0).size() == 0) return {{0}, {0}};
  const Shape &in = c.in(0).shape(), &out = c.out(0).shape(), s = row_major(in);
  const int64_t b = op.blocksize;
  if (in[1] % (b * b) != 0)
    c.fail(Code::run_bad_shape, "channels that " + std::to_string(b * b) + " divides", std::to_string(in[1]));
  const bool channels_last = op.mode == "DCR";
  const int64_t pixel = channels_last ? in[1] / (b * b) * s[1] : s[1];
  return {{out[0], out[1], in[2], b, in[3], b},
          {s[0], channels_last ? s[1] : b * b * s[1], s[2], b * pixel, s[3], pixel}};
}

inline BlockAxes block_axes(const SpaceToDepth& op, KernelContext& c) {
  if (c.out(0).size() == 0) return {{0}, {0}};
  const Shape &in = c.in(0).shape(), &out = c.out(0).shape(), s = row_major(in);
  const int64_t b = op.blocksize;
  if (in[2] % b != 0 || in[3] % b != 0)
    c.fail(Code::run_bad_shape, "height and width that " + std::to_string(b) + " divides", describe(in));
  if (op.mode == "CRD")
    return {{out[0], in[1], b, b, out[2], out[3]}, {s[0], s[1], s[2], s[3], b * s[2], b * s[3]}};
  return {{out[0], b, b, in[1], out[2], out[3]}, {s[0], s[2], s[3], s[1], b * s[2], b * s[3]}};
}

}  // namespace lathe
