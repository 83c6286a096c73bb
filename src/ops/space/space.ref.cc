#include "kernel/lean_reference.h"
#include "ops/space/block_axes.h"

namespace lathe {
namespace {

template <class Op>
void rearrange(const Op& op, KernelContext& c) {
  const BlockAxes axes = block_axes(op, c);
  move_elements(c.in(0), c.out(0), [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), axes.shape, axes.strides, c);
  });
}

}  // namespace

void reference_space(KernelCatalog& k) {
  lean_reference<DepthToSpace>(k, "DepthToSpace", rearrange<DepthToSpace>);
  lean_reference<SpaceToDepth>(k, "SpaceToDepth", rearrange<SpaceToDepth>);
}

}  // namespace lathe
