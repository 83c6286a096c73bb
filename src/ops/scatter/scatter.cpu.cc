// ScatterND without a reduction: slices of whole bytes are copied over the data, in the order of the indices.
#include <cstring>

#include "cpu/ask.h"
#include "cpu/move.h"
#include "ops/scatter/scatter_slices.h"

namespace lathe {
namespace {

Verdict ask(const ScatterND& op, const KernelRequest& r) {
  if (scatter_rule(op.reduction) != ScatterRule::none) return Verdict::no("a reduction");
  return cpu::refuse_unless_movable(r);
}

void run(const ScatterND&, KernelContext& c) {
  const Tensor &data = c.in(0), &indices = c.in(1), &updates = c.in(2);
  const ScatterSlices s(c, data.shape(), indices.shape(), updates.shape());
  Tensor& out = c.out(0);
  copy_elements(data, out, c);
  const Shape strides = row_major(data.shape());
  const auto element = static_cast<int64_t>(cpu::element_bytes(data)), bytes = s.slice * element;
  const char* from = static_cast<const char*>(updates.data());
  Poller poll(c);
  for (int64_t i = 0; i < s.tuples; ++i, from += bytes) {
    int64_t offset = 0;
    for (int64_t k = 0; k < s.tuple; ++k) {
      const auto axis = static_cast<size_t>(k);
      offset += strides[axis] * checked_index(c, index_at(indices, i * s.tuple + k), data.dim(axis));
    }
    poll.did(1 + s.tuple + bytes / 16);
    std::memcpy(static_cast<char*>(out.data()) + offset * element, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

void cpu_scatter(KernelCatalog& k) {
  k.add<ScatterND>({.op = "ScatterND", .name = cpu::kernel_name("scatter_nd", Isa::generic)},
                   {.run = run, .ask = ask});
}

}  // namespace lathe
