#include "kernel/lean_reference.h"
#include "ops/concat/concat_parts.h"

namespace lathe {
namespace {

/// Copies one input: for every index before the axis, a run of elements that stay together.
template <class T>
void concat_part(const Tensor& part, size_t axis, int64_t offset, Tensor& out, KernelContext& c) {
  int64_t inner = 1;
  for (size_t a = axis + 1; a < out.rank(); ++a) inner *= out.dim(a);
  const int64_t run = part.dim(axis) * inner, stride = out.dim(axis) * inner;
  if (part.size() == 0) return;
  const T* from = part.as<T>().data();
  T* to = out.as<T>().data() + offset * inner;
  Poller poll(c);
  for (int64_t outer = part.size() / run; outer-- > 0; from += run, to += stride) poll.copy(from, run, to);
}

void concat(const Concat& op, KernelContext& c) {
  ByteOutput out(c.out(0));
  Tensor& to = out.tensor();
  const auto axis = axis_of(op.axis, to.rank());
  for_each_concat_part(c, axis, to.shape(), [&](const Tensor& in, int64_t offset) {
    const Tensor part = unpacked(in);
    for_size(part.type(), [&]<class T> { concat_part<T>(part, axis, offset, to, c); });
  });
  out.finish();
}

}  // namespace

void reference_concat(KernelCatalog& k) { lean_reference<Concat>(k, "Concat", concat); }

}  // namespace lathe
