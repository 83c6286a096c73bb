#include "ops/shape/shape.h"

#include "kernel/kernel.h"

namespace lathe {
namespace {

void shape_of(const ShapeOf& op, KernelContext& c) {
  const Shape& shape = c.in(0).shape();
  const auto [first, last] = op.range(static_cast<int64_t>(shape.size()));
  std::copy(shape.begin() + first, shape.begin() + last, c.out(0).as<int64_t>().begin());
}

void size_of(const SizeOf&, KernelContext& c) { c.out(0).as<int64_t>()[0] = c.in(0).size(); }

/// Neither reads an element, so states stay where they are.
template <class Op>
void add(KernelCatalog& k, std::string op, void (*run)(const Op&, KernelContext&)) {
  std::string name = op + ".ref";
  k.add<Op>({.op = std::move(op),
             .name = std::move(name),
             .backend = "reference",
             .takes_states = 1,
             .takes_blocks = true},
            {.run = run});
}

}  // namespace

void reference_shape(KernelCatalog& k) {
  add<ShapeOf>(k, "Shape", shape_of);
  add<SizeOf>(k, "Size", size_of);
}

}  // namespace lathe
