#include "ops/max_roi_pool/max_roi_pool.h"

#include "ops/compute.h"

namespace lathe {
namespace {

/// Pixels [begin, end) of bin `i` of `bins` over `first` … `last`, within [0, size).
struct Bin {
  int64_t begin, end;
  Bin(double first, double last, int64_t i, int64_t bins, int64_t size) {
    const double width = std::max(last - first + 1, 1.0) / static_cast<double>(bins),
                 from = static_cast<double>(i);
    const auto limit = [&](double v) {
      return static_cast<int64_t>(std::min(std::max(v, 0.0), static_cast<double>(size)));
    };
    begin = limit(first + std::floor(from * width));
    end = limit(first + std::ceil((from + 1) * width));
  }
};

void max_roi_pool(const MaxRoiPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Tensor& rois = c.in(1);
  Tensor& out = c.out(0);
  const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const int64_t rows = op.pooled_shape[0], columns = op.pooled_shape[1];
  Poller poll(c);
  for (int64_t r = 0; r < rois.dim(0); ++r) {
    const double batch = load_double(rois, r * 5);
    if (!(batch >= 0 && batch < static_cast<double>(x.dim(0))))
      c.fail(Code::run_bad_value, "rois of images 0 to " + std::to_string(x.dim(0) - 1),
             std::to_string(batch));
    double corner[4];  // x1, y1, x2, y2
    for (int64_t k = 0; k < 4; ++k) {
      corner[k] = std::round(load_double(rois, r * 5 + 1 + k) * static_cast<double>(op.spatial_scale));
      if (!std::isfinite(corner[k]))
        c.fail(Code::run_bad_value, "corners that are finite", std::to_string(corner[k]));
    }
    for (int64_t i = 0; i < channels * rows * columns; ++i) {
      const Bin down(corner[1], corner[3], i / columns % rows, rows, height);
      const Bin across(corner[0], corner[2], i % columns, columns, width);
      const int64_t plane = (static_cast<int64_t>(batch) * channels + i / (rows * columns)) * height * width;
      bool any = false;
      double greatest = 0;  // of an empty bin
      poll.did(16);
      for (int64_t y = down.begin; y < down.end; ++y)
        for (int64_t k = across.begin; k < across.end; ++k) {
          const double v = load_double(x, plane + y * width + k);
          if (!any || v > greatest || std::isnan(v)) greatest = v;
          any = true;
          poll.did(4);
        }
      store_double(out, r * channels * rows * columns + i, greatest);
    }
  }
}

}  // namespace

void reference_max_roi_pool(KernelCatalog& k) { k.reference<MaxRoiPool>("MaxRoiPool", max_roi_pool); }

}  // namespace lathe
