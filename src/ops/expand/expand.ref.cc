#include "ops/expand/expand.h"

#include "ops/movement.h"

namespace lathe {
namespace {

void expand(const Expand&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const Shape dense = row_major(in.shape());
  Shape strides(out.rank(), 0);
  for (size_t a = 0; a < in.rank(); ++a) {
    const size_t to = a + out.rank() - in.rank();
    if (in.dim(a) != 1 && in.dim(a) != out.dim(to))
      c.fail(Code::run_bad_shape, "shapes that broadcast",
             describe(in.shape()) + " and " + describe(out.shape()));
    strides[to] = in.dim(a) == 1 ? 0 : dense[a];
  }
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), out.shape(), strides, c);
  });
}

/// Every axis becomes two, the outer one of which stands still in the input.
void tile(const Tile&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  const Shape dense = row_major(in.shape());
  Shape shape, strides;
  for (size_t a = 0; a < in.rank(); ++a) {
    if (in.dim(a) == 0 || out.dim(a) % in.dim(a) != 0)
      c.fail(Code::run_bad_shape, "sizes that repeat " + describe(in.shape()), describe(out.shape()));
    shape.push_back(out.dim(a) / in.dim(a));
    shape.push_back(in.dim(a));
    strides.push_back(0);
    strides.push_back(dense[a]);
  }
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    copy_strided(from.data(), to.data(), shape, strides, c);
  });
}

}  // namespace

void reference_expand(KernelCatalog& k) {
  k.reference<Expand>("Expand", expand);
  k.reference<Tile>("Tile", tile);
}

}  // namespace lathe
