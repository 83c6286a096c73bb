// Transpose of elements of whole bytes.
#include "ops/transpose/transpose.h"

#include "cpu/movement.h"
#include "cpu/support.h"

namespace lathe {
namespace {

Support supports(const Transpose&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

template <Isa isa>
void run(const Transpose& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  cpu::transpose(isa, x.data(), c.out(0).data(), x.shape(), op.order(x.rank()),
                 static_cast<size_t>(bits_of(x.type())) / 8, c);
}

}  // namespace

void cpu_transpose(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Transpose>({.op = "Transpose", .name = cpu::kernel_name("transpose", isa), .isa = isa},
                     {.run = run<isa>, .supports = supports});
  });
}

}  // namespace lathe
