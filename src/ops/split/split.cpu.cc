// Split of elements of whole bytes: every part that is not a view of the input is copied, rows whole.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/split/split_parts.h"
#include "ops/subviews.h"

namespace lathe {
namespace {

Support supports(const Split&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void run(const Split& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const size_t axis = axis_of(op.axis, in.rank());
  const Shape strides = row_major(in.shape());
  for_each_split_part(c, axis, op.num_outputs.has_value(), [&](Tensor& out, int64_t offset) {
    const void* const place = cpu::at(in, offset * strides[axis]);
    if (out.data() != place)
      cpu::move({place, strides}, out.data(), row_major(out.shape()), out.shape(), cpu::element_bytes(in), c);
  });
}

std::optional<SubviewOffsets> subviews(const Split& op, const StepFacts& facts) {
  return subviews_along(op.axis, facts.inputs[0], facts.outputs);
}

}  // namespace

void cpu_split(KernelCatalog& k) {
  k.add<Split>(
      {.op = "Split", .name = cpu::kernel_name("split", Isa::generic), .subviews_of = SubviewsOf::input},
      {.run = run, .supports = supports, .subviews = subviews});
}

}  // namespace lathe
