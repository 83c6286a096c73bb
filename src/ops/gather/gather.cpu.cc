// Gather of elements of whole bytes: the slices that the indices name are copied whole.
#include "ops/gather/gather.h"

#include <cstring>

#include "cpu/ask.h"
#include "cpu/move.h"
#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

Verdict ask(const Gather&, const KernelRequest& r) { return cpu::refuse_unless_movable(r); }

/// Bytes between polls, and of a piece worth another thread.
constexpr int64_t piece_bytes = 65536;

void run(const Gather& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const size_t axis = axis_of(op.axis, in.rank());
  const int64_t size = in.dim(axis), count = indices.size();
  int64_t outer = count_between(in.shape(), 0, axis);
  if (c.out(0).size() == 0) outer = std::min<int64_t>(outer, 1);  // only the indices are looked at
  const int64_t slice =
      count_between(in.shape(), axis + 1, in.rank()) * static_cast<int64_t>(cpu::element_bytes(in));
  const char* const from = static_cast<const char*>(in.data());
  char* const to = static_cast<char*>(c.out(0).data());
  const int64_t grain = std::max<int64_t>(1, piece_bytes / std::max<int64_t>(slice, 16));
  c.parallel(outer * count, grain, [&](int64_t begin, int64_t end) {
    int64_t o = begin / count, k = begin % count;
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      const int64_t index = checked_index(c, index_at(indices, k), size);
      const char* const chosen = from + (o * size + index) * slice;
      if (slice <= piece_bytes)
        std::memcpy(to + i * slice, chosen, static_cast<size_t>(slice));
      else
        Poller(c).copy(chosen, slice, to + i * slice);
      if (++k == count) {
        k = 0;
        ++o;
      }
    }
  });
}

}  // namespace

void cpu_gather(KernelCatalog& k) {
  k.add<Gather>({.op = "Gather", .name = cpu::kernel_name("gather", Isa::generic), .any_alignment = 0},
                {.run = run, .ask = ask});
}

}  // namespace lathe
