// Expand and Tile of elements of whole bytes: rows are copied whole, or filled.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/expand/repeated.h"

namespace lathe {
namespace {

template <class Op>
Support supports(const Op&, const KernelQuery& r) {
  return cpu::refuse_unless_movable(r);
}

template <class Op>
void run(const Op& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const Repeated r = repeated(op, c);
  cpu::move({in.data(), r.strides}, c.out(0).data(), row_major(r.shape), r.shape, cpu::element_bytes(in), c);
}

}  // namespace

void cpu_expand(KernelCatalog& k) {
  k.add<Expand>({.op = "Expand", .name = cpu::kernel_name("expand", Isa::generic)},
                {.run = run<Expand>, .supports = supports<Expand>});
  k.add<Tile>({.op = "Tile", .name = cpu::kernel_name("tile", Isa::generic)},
              {.run = run<Tile>, .supports = supports<Tile>});
}

}  // namespace lathe
