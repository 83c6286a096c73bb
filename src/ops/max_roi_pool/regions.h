// Regions and their bins, for the kernels of MaxRoiPool.
#pragma once

#include "ops/compute.h"
#include "ops/max_roi_pool/max_roi_pool.h"

namespace lathe {

/// Pixels [begin, end) of bin `i` of `bins` over `first` … `last`, within [0, size).
struct PoolBin {
  int64_t begin = 0, end = 0;
  PoolBin() = default;
  PoolBin(double first, double last, int64_t i, int64_t bins, int64_t size) {
    const double width = std::max(last - first + 1, 1.0) / static_cast<double>(bins),
                 from = static_cast<double>(i);
    const auto limit = [&](double v) {
      return static_cast<int64_t>(std::min(std::max(v, 0.0), static_cast<double>(size)));
    };
    begin = limit(first + std::floor(from * width));
    end = limit(first + std::ceil((from + 1) * width));
  }
};

/// A region of the feature map; throws run_bad_value if it is none.
struct PoolRegion {
  int64_t image;
  double corner[4];  // x1, y1, x2, y2

  PoolRegion(const MaxRoiPool& op, const Tensor& x, const Tensor& rois, int64_t r, KernelContext& c)
      : op_(op), height_(x.dim(2)), width_(x.dim(3)) {
    const double batch = load_double(rois, r * 5);
    if (!(batch >= 0 && batch < static_cast<double>(x.dim(0))))
      c.fail(Code::run_bad_value, "rois of images 0 to " + std::to_string(x.dim(0) - 1),
             std::to_string(batch));
    image = static_cast<int64_t>(batch);
    for (int64_t k = 0; k < 4; ++k) {
      corner[k] = std::round(load_double(rois, r * 5 + 1 + k) * static_cast<double>(op.spatial_scale));
      if (!std::isfinite(corner[k]))
        c.fail(Code::run_bad_value, "corners that are finite", std::to_string(corner[k]));
    }
  }
  PoolBin down(int64_t row) const { return {corner[1], corner[3], row, op_.pooled_shape[0], height_}; }
  PoolBin across(int64_t column) const { return {corner[0], corner[2], column, op_.pooled_shape[1], width_}; }

 private:
  const MaxRoiPool& op_;
  int64_t height_, width_;
};

}  // namespace lathe
