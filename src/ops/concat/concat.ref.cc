#include "ops/concat/concat.h"

#include "ops/movement.h"

namespace lathe {
namespace {

/// Of one input: for every index before the axis, a run of elements that stay together.
template <class T>
void concat_part(const Tensor& part, size_t axis, int64_t offset, Tensor& out, KernelContext& c) {
  Shape expected = out.shape();
  expected[axis] = part.dim(axis);
  if (!(part.shape() == expected) || offset + part.dim(axis) > out.dim(axis))
    c.fail(Code::run_bad_shape, "an input of shape " + describe(expected), describe(part.shape()));
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
  int64_t offset = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (c.in(i).rank() != to.rank())
      c.fail(Code::run_bad_shape, "inputs of rank " + std::to_string(to.rank()), describe(c.in(i).shape()));
    const Tensor part = unpacked(c.in(i));
    for_size(part.type(), [&]<class T> { concat_part<T>(part, axis, offset, to, c); });
    offset += part.dim(axis);
  }
  if (offset != to.dim(axis))
    c.fail(Code::run_bad_shape,
           "sizes along axis " + std::to_string(axis) + " that add up to " + std::to_string(to.dim(axis)),
           std::to_string(offset));
  out.finish();
}

}  // namespace

void reference_concat(KernelCatalog& k) { k.reference<Concat>("Concat", concat); }

}  // namespace lathe
