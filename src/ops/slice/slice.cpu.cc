// Slice of elements of whole bytes: rows are copied whole, or none where the output lies in the input.
#include "cpu/ask.h"
#include "cpu/move.h"
#include "ops/slice/slice_view.h"

namespace lathe {
namespace {

Verdict ask(const Slice&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

void run(const Slice&, KernelContext& c) {
  const Tensor& in = c.in(0);
  const SliceView v = slice_view(c);
  Tensor& out = c.out(0, in.type(), v.shape);
  const void* const place = cpu::at(in, v.offset);
  if (out.data() != place)
    cpu::move({place, v.strides}, out.data(), row_major(v.shape), v.shape, cpu::element_bytes(in), c);
}

}  // namespace

void cpu_slice(KernelCatalog& k) {
  k.add<Slice>({.op = "Slice", .name = cpu::kernel_name("slice", Isa::generic)}, {.run = run, .ask = ask});
}

}  // namespace lathe
