#include "kernel/lean_reference.h"
#include "ops/split/split_parts.h"

namespace lathe {
namespace {

void split(const Split& op, KernelContext& c) {
  const Tensor in = unpacked(c.in(0));
  const size_t axis = axis_of(op.axis, in.rank());
  const Shape strides = row_major(in.shape());
  for_each_split_part(c, axis, op.num_outputs.has_value(), [&](Tensor& out, int64_t offset) {
    ByteOutput to(out);
    for_size(in.type(), [&]<class T> {
      copy_strided(in.as<T>().data() + offset * strides[axis], to.tensor().as<T>().data(), out.shape(),
                   strides, c);
    });
    to.finish();
  });
}

}  // namespace

void reference_split(KernelCatalog& k) { lean_reference<Split>(k, "Split", split); }

}  // namespace lathe
