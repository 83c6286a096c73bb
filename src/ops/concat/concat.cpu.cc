// Concat of elements of whole bytes: every input that is not there yet is copied into its place, rows whole.
#include "cpu/ask.h"
#include "cpu/move.h"
#include "ops/concat/concat_parts.h"
#include "ops/parts.h"

namespace lathe {
namespace {

Verdict ask(const Concat&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

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

std::optional<PartOffsets> parts(const Concat& op, const StepFacts& facts) {
  return parts_along(op.axis, facts.outputs[0], facts.inputs);
}

}  // namespace

void cpu_concat(KernelCatalog& k) {
  k.add<Concat>({.op = "Concat", .name = cpu::kernel_name("concat", Isa::generic), .whole = Whole::output},
                {.run = run, .ask = ask, .parts = parts});
}

}  // namespace lathe
