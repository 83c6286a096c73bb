#include "ops/center_crop_pad/center_crop_pad.h"

#include "ops/center_crop_pad/cropped.h"

namespace lathe {
namespace {

void center_crop_pad(const CenterCropPad& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const auto rank = static_cast<int64_t>(x.rank());
  const Cropped cropped(op, c);
  const Shape &shape = cropped.shape, &first = cropped.first;
  Tensor& out = c.out(0, x.type(), shape);
  for_size(x.type(), [&]<class T>() {
    const auto* from = static_cast<const T*>(x.data());
    auto* to = static_cast<T*>(out.data());
    Poller poll(c);
    for (int64_t i = 0; i < out.size(); ++i) {
      poll.did(2 * rank);
      int64_t rest = i, at = 0, stride = 1;
      bool inside = true;
      for (size_t a = shape.size(); a-- > 0; rest /= shape[a], stride *= x.dim(a)) {
        const int64_t k = rest % shape[a] + first[a];
        inside = inside && k >= 0 && k < x.dim(a);
        at += k * stride;
      }
      to[i] = inside ? from[at] : T();
    }
  });
}

}  // namespace

void reference_center_crop_pad(KernelCatalog& k) {
  k.reference<CenterCropPad>("CenterCropPad", center_crop_pad);
}

}  // namespace lathe
