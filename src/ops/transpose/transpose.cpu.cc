// Transpose of elements of whole bytes; no vector code of its own, so one kernel for all machines.
#include "cpu/transpose.h"

#include "cpu/ask.h"
#include "ops/transpose/transpose.h"

namespace lathe {
namespace {

Verdict ask(const Transpose&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

void run(const Transpose& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::transpose(x.data(), c.out(0).data(), x.shape(), op.order(x.rank()),
                 static_cast<size_t>(bits_of(x.type())) / 8, c);
}

}  // namespace

void cpu_transpose(KernelCatalog& k) {
  k.add<Transpose>({.op = "Transpose", .name = cpu::kernel_name("transpose", Isa::generic)},
                   {.run = run, .ask = ask});
}

}  // namespace lathe
