// The samples that RoiAlign takes of a feature map, for its kernels.
#pragma once

#include <array>
#include <cmath>

#include "ops/movement.h"
#include "ops/roi_align/roi_align.h"

namespace lathe {

/// A position between four pixels; all weights are 0 if it is outside of the map.
struct RoiSample {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
};

inline RoiSample roi_sample(double y, double x, int64_t height, int64_t width) {
  RoiSample s;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return s;
  const auto clamp = [](double v, int64_t size, int64_t& low, int64_t& high) {
    v = std::max(v, 0.0);
    low = std::min(static_cast<int64_t>(v), size - 1);
    high = std::min(low + 1, size - 1);
    return low == size - 1 ? 0.0 : v - static_cast<double>(low);
  };
  int64_t y0, y1, x0, x1;
  const double ly = clamp(y, height, y0, y1), lx = clamp(x, width, x0, x1);
  s.at = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  s.weight = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
  return s;
}

/// Fails if the inputs do not fit together.
inline void check_regions(KernelContext& c) {
  const Tensor &map = c.in(0), &rois = c.in(1), &images = c.in(2);
  if (rois.dim(1) != 4 || rois.dim(0) != images.size())
    c.fail(Code::run_bad_shape, "four numbers and a batch index for each roi",
           describe(rois) + " and " + describe(images));
  if (map.dim(2) == 0 || map.dim(3) == 0)
    c.fail(Code::run_bad_value, "a feature map with pixels", describe(map));
}
/// The image to which a region belongs.
inline int64_t image_of(KernelContext& c, int64_t roi) {
  const int64_t n = index_at(c.in(2), roi), images = c.in(0).dim(0);
  if (n < 0 || n >= images)
    c.fail(Code::run_bad_index, "a batch index in [0, " + std::to_string(images) + ")", std::to_string(n));
  return n;
}

/// One side of a region: the start of its bins, their length, and the number of samples in each.
struct RoiSide {
  double start, bin;
  int64_t samples;
};

inline RoiSide roi_side(const RoiAlign& op, double from, double to, int64_t bins, const KernelContext& c) {
  const bool half_pixel = op.coordinate_transformation_mode == "half_pixel";
  const double shift = half_pixel ? 0.5 : 0, scale = op.spatial_scale;
  const double start = from * scale - shift;
  double length = to * scale - shift - start;
  if (!std::isfinite(start) || !std::isfinite(length))
    c.fail(Code::run_bad_value, "regions of finite coordinates",
           std::to_string(from) + " to " + std::to_string(to));
  if (!half_pixel) length = std::max(length, 1.0);  // as in versions without the shift
  const double bin = length / static_cast<double>(bins);
  constexpr int64_t most = 4096;
  if ((op.sampling_ratio == 0 && bin > most) || op.sampling_ratio > most)
    c.fail(Code::run_too_large, "at most " + std::to_string(most) + " samples along a bin",
           std::to_string(bin));
  const int64_t samples =
      op.sampling_ratio > 0 ? op.sampling_ratio : static_cast<int64_t>(std::max(std::ceil(bin), 0.0));
  return {start, bin, samples};
}

}  // namespace lathe
