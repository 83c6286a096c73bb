#include "ops/split/split.h"

#include "ops/movement.h"

namespace lathe {
namespace {

void split(const Split& op, KernelContext& c) {
  const Tensor in = unpacked(c.in(0));
  const size_t axis = axis_of(op.axis, in.rank());
  const Shape strides = row_major(in.shape());
  // Outputs that nobody wants have no shape; where the others begin follows from the sizes.
  const bool given = c.has(1);
  const auto count = static_cast<int64_t>(c.outputs());
  if (!given && !op.num_outputs && in.dim(axis) % count != 0)
    c.fail(Code::run_bad_shape, "an axis that " + std::to_string(count) + " divides",
           std::to_string(in.dim(axis)));
  if (given && c.in(1).size() != count)
    c.fail(Code::run_bad_shape, std::to_string(count) + " sizes of parts", std::to_string(c.in(1).size()));
  int64_t offset = 0;
  for (size_t i = 0; i < c.outputs(); ++i) {
    const int64_t size = given ? load_int(c.in(1), static_cast<int64_t>(i))
                               : std::min(ceil_div(in.dim(axis), count), in.dim(axis) - offset);
    if (size < 0 || size > in.dim(axis) - offset)
      c.fail(Code::run_bad_value, "parts within an axis of " + std::to_string(in.dim(axis)),
             std::to_string(size));
    if (c.wants(i)) {
      Shape shape = in.shape();
      shape[axis] = size;
      Tensor& out = c.out(i, c.in(0).type(), shape);
      ByteOutput to(out);
      for_size(in.type(), [&]<class T> {
        copy_strided(in.as<T>().data() + offset * strides[axis], to.tensor().as<T>().data(), shape, strides,
                     c);
      });
      to.finish();
    }
    offset += size;
  }
}

}  // namespace

void reference_split(KernelCatalog& k) { k.reference<Split>("Split", split); }

}  // namespace lathe
