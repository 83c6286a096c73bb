#include "kernel/lean_reference.h"
#include "ops/expand/repeated.h"

namespace lathe {
namespace {

template <class Op>
void repeat(const Op& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const Repeated r = repeated(op, c);
  move_elements(in, c.out(0), [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), r.shape, r.strides, c);
  });
}

}  // namespace

void reference_expand(KernelCatalog& k) {
  lean_reference<Expand>(k, "Expand", repeat<Expand>);
  lean_reference<Tile>(k, "Tile", repeat<Tile>);
}

}  // namespace lathe
