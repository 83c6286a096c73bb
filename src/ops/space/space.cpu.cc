// DepthToSpace and SpaceToDepth of elements of whole bytes.
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/space/block_axes.h"

namespace lathe {
namespace {

template <class Op>
Support supports(const Op&, const KernelQuery& r) {
  return cpu::refuse_unless_movable(r);
}

template <class Op>
void run(const Op& op, KernelContext& c) {
  const BlockAxes axes = block_axes(op, c);
  cpu::move({c.in(0).data(), axes.strides}, c.out(0).data(), row_major(axes.shape), axes.shape,
            cpu::element_bytes(c.in(0)), c);
}

}  // namespace

void cpu_space(KernelCatalog& k) {
  k.add<DepthToSpace>({.op = "DepthToSpace", .name = cpu::kernel_name("depth_to_space", Isa::generic)},
                      {.run = run<DepthToSpace>, .supports = supports<DepthToSpace>});
  k.add<SpaceToDepth>({.op = "SpaceToDepth", .name = cpu::kernel_name("space_to_depth", Isa::generic)},
                      {.run = run<SpaceToDepth>, .supports = supports<SpaceToDepth>});
}

}  // namespace lathe
