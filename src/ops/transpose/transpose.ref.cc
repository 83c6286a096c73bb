#include "ops/transpose/transpose.h"

#include "kernel/lean_reference.h"
#include "ops/movement.h"

namespace lathe {
namespace {

void transpose(const Transpose& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const Shape axes = op.order(in.rank());
  const Shape dense = row_major(in.shape());
  Shape strides;
  for (int64_t axis : axes) strides.push_back(dense[static_cast<size_t>(axis)]);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), out.shape(), strides, c);
  });
}

}  // namespace

void reference_transpose(KernelCatalog& k) { lean_reference<Transpose>(k, "Transpose", transpose); }

}  // namespace lathe
