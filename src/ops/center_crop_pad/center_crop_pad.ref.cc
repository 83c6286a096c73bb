#include "ops/center_crop_pad/center_crop_pad.h"

#include "ops/compute.h"

namespace lathe {
namespace {

void center_crop_pad(const CenterCropPad& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const std::pmr::vector<int64_t> sizes = integers_of(c.in(1), c);
  const auto rank = static_cast<int64_t>(x.rank());
  if (sizes.size() != (op.axes ? op.axes->size() : x.rank()))
    c.fail(Code::run_bad_shape, "a size for each axis", std::to_string(sizes.size()));
  Shape shape = x.shape();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t axis = op.axes ? (*op.axes)[i] : static_cast<int64_t>(i);
    if (axis < -rank || axis >= rank)
      c.fail(Code::node_bad_attribute, "axes of the input", std::to_string(axis));
    if (sizes[i] < 0) c.fail(Code::run_bad_value, "sizes from 0", std::to_string(sizes[i]));
    shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = sizes[i];
  }
  // Where output index 0 lies in the input, along each axis: what is odd is cut at the end, and filled up
  // there.
  std::pmr::vector<int64_t> first(x.rank(), c.scratch()), index(x.rank(), c.scratch());
  for (size_t a = 0; a < shape.size(); ++a)
    first[a] = x.dim(a) >= shape[a] ? (x.dim(a) - shape[a]) / 2 : -((shape[a] - x.dim(a)) / 2);
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
