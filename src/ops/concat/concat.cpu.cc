// Concat of elements of whole bytes: every input that is not part of the output already is copied, rows
// whole.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/concat/concat_parts.h"
#include "ops/subviews.h"

namespace lathe {
namespace {

Support supports(const Concat&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void run(const Concat& op, KernelContext& c) {
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, out.rank());
  const Shape strides = row_major(out.shape());
  for_each_concat_part(c, axis, out.shape(), [&](const Tensor& in, int64_t offset) {
    void* const place = cpu::at(out, offset * strides[axis]);
    if (in.data() != place)
      cpu::move({in.data(), row_major(in.shape())}, place, strides, in.shape(), cpu::element_bytes(in), c);
  });
}

std::optional<SubviewOffsets> subviews(const Concat& op, const StepFacts& facts) {
  return subviews_along(op.axis, facts.outputs[0], facts.inputs);
}

}  // namespace

void cpu_concat(KernelCatalog& k) {
  k.add<Concat>(
      {.op = "Concat", .name = cpu::kernel_name("concat", Isa::generic), .subviews_of = SubviewsOf::output},
      {.run = run, .supports = supports, .subviews = subviews});
}

}  // namespace lathe
