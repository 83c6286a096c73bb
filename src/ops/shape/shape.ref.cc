#include "ops/shape/shape.h"

#include "kernel/lean_reference.h"

namespace lathe {
namespace {

void shape_of(const ShapeOf& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const auto [first, last] = op.range(static_cast<int64_t>(shape.size()));
  std::copy(shape.begin() + first, shape.begin() + last, c.out(0).as<int64_t>().begin());
}

void size_of(const SizeOf&, KernelContext& c) { c.out(0).as<int64_t>()[0] = c.in(0).size(); }

}  // namespace

void reference_shape(KernelCatalog& k) {
  lean_reference<ShapeOf>(k, "Shape", shape_of);
  lean_reference<SizeOf>(k, "Size", size_of);
}

}  // namespace lathe
