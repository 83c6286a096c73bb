// ScatterND without a reduction: slices of whole bytes are copied over the data, in the order of the indices.
// TensorScatter: rows of whole bytes, in the cache itself where nobody else needs it.
#include <algorithm>
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

Verdict ask_rows(const TensorScatter&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

/// The output may be the memory of the cache, or of an update that replaces all of it.
void write_rows(const TensorScatter& op, KernelContext& c) {
  const Tensor &cache = c.in(0), &update = c.in(1);
  const CacheRows rows(op, c, cache.shape(), update.shape());
  Tensor& out = c.out(0);
  const int64_t row = rows.inner * static_cast<int64_t>(cpu::element_bytes(cache)), whole = rows.room * row,
                part = rows.length * row;
  if (whole == 0 || rows.outer == 0) return;
  const auto* const old = static_cast<const std::byte*>(cache.data());
  const auto* const fresh = static_cast<const std::byte*>(update.data());
  auto* const made = static_cast<std::byte*>(out.data());
  const bool in_cache = old == made, in_update = part == whole && fresh == made;
  c.parallel(rows.outer, std::max<int64_t>(1, Poller::every / whole), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t o = begin; o < end; ++o) {
      const int64_t first = part > 0 ? rows.first(o) * row : 0;
      std::byte* const to = made + o * whole;
      if (in_update) {
        std::rotate(to, to + (whole - first) % whole, to + whole);
        poll.did(first > 0 ? whole : 1);
        continue;
      }
      // What goes beyond the end begins again: of a circular cache alone.
      const int64_t behind = std::min(part, whole - first), again = part - behind;
      if (!in_cache) {
        const std::byte* const from = old + o * whole;
        poll.copy(from + again, first - std::min(first, again), to + again);
        poll.copy(from + first + behind, whole - first - behind, to + first + behind);
      }
      poll.copy(fresh + o * part, behind, to + first);
      poll.copy(fresh + o * part + behind, again, to);
    }
  });
}

}  // namespace

void cpu_scatter(KernelCatalog& k) {
  k.add<ScatterND>({.op = "ScatterND", .name = cpu::kernel_name("scatter_nd", Isa::generic)},
                   {.run = run, .ask = ask});
  k.add<TensorScatter>(
      {.op = "TensorScatter", .name = cpu::kernel_name("tensor_scatter", Isa::generic), .overwrites = true},
      {.run = write_rows, .ask = ask_rows});
}

}  // namespace lathe
