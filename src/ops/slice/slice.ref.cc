#include "kernel/lean_reference.h"
#include "ops/slice/slice_view.h"

namespace lathe {
namespace {

void slice(const Slice&, KernelContext& c) {
  const Tensor& in = c.in(0);
  const SliceView v = slice_view(c);
  Tensor& out = c.out(0, in.type(), v.shape);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data() + v.offset, to.data(), v.shape, v.strides, c);
  });
}

}  // namespace

void reference_slice(KernelCatalog& k) { lean_reference<Slice>(k, "Slice", slice); }

}  // namespace lathe
