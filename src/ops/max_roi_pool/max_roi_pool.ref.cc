#include "ops/max_roi_pool/regions.h"

namespace lathe {
namespace {

void max_roi_pool(const MaxRoiPool& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Tensor& rois = c.in(1);
  Tensor& out = c.out(0);
  const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const int64_t rows = op.pooled_shape[0], columns = op.pooled_shape[1];
  Poller poll(c);
  for (int64_t r = 0; r < rois.dim(0); ++r) {
    const PoolRegion region(op, x, rois, r, c);
    for (int64_t i = 0; i < channels * rows * columns; ++i) {
      const PoolBin down = region.down(i / columns % rows), across = region.across(i % columns);
      const int64_t plane = (region.image * channels + i / (rows * columns)) * height * width;
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
