#include "ops/space/space.h"

#include "ops/movement.h"

namespace lathe {
namespace {

/// Strides, in a tensor [N, C·b·b, H, W], of the axes (n, c, h, y, w, x): channel c of the pixel (y, x) in
/// block (h, w).
Shape deep_strides(const Shape& deep, int64_t block, const std::string& mode) {
  const Shape s = row_major(deep);
  const int64_t channels = deep[1] / (block * block);
  const bool channels_last = mode == "DCR";
  const int64_t pixel = channels_last ? channels * s[1] : s[1];
  return {s[0], channels_last ? s[1] : block * block * s[1], s[2], block * pixel, s[3], pixel};
}

void depth_to_space(const DepthToSpace& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const int64_t b = op.blocksize;
  if (in.dim(1) % (b * b) != 0)
    c.fail(Code::run_bad_shape, "channels that " + std::to_string(b * b) + " divides",
           std::to_string(in.dim(1)));
  const Shape shape{out.dim(0), out.dim(1), in.dim(2), b, in.dim(3), b};
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), shape, deep_strides(in.shape(), b, op.mode), c);
  });
}

void space_to_depth(const SpaceToDepth& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const int64_t b = op.blocksize;
  if (in.dim(2) % b != 0 || in.dim(3) % b != 0)
    c.fail(Code::run_bad_shape, "height and width that " + std::to_string(b) + " divides",
           describe(in.shape()));
  const Shape s = row_major(in.shape());
  const int64_t channels = in.dim(1), h = out.dim(2), w = out.dim(3);
  Shape shape{out.dim(0), b, b, channels, h, w}, strides{s[0], s[2], s[3], s[1], b * s[2], b * s[3]};
  if (op.mode == "CRD") {
    shape = {out.dim(0), channels, b, b, h, w};
    strides = {s[0], s[1], s[2], s[3], b * s[2], b * s[3]};
  }
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), shape, strides, c);
  });
}

}  // namespace

void reference_space(KernelCatalog& k) {
  k.reference<DepthToSpace>("DepthToSpace", depth_to_space);
  k.reference<SpaceToDepth>("SpaceToDepth", space_to_depth);
}

}  // namespace lathe
