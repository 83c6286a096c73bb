// Gather and its kin, of elements of whole bytes: the slices that the indices name are copied whole.
#include "ops/gather/gather.h"

#include <cstring>

#include "cpu/elementwise.h"
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/gather/gather_tuples.h"
#include "ops/movement.h"
#include "ops/picked.h"

namespace lathe {
namespace {

template <class Op>
Support supports_gather(const Op&, const KernelQuery& r) {
  return cpu::refuse_unless_movable(r);
}

/// Bytes between polls, and of a piece worth another thread.
constexpr int64_t piece_bytes = 65536;

/// A slice of no more than so many bytes is copied at once.
void copy_slice(const char* from, int64_t bytes, char* to, KernelContext& c) {
  if (bytes <= piece_bytes)
    std::memcpy(to, from, static_cast<size_t>(bytes));
  else
    Poller(c).copy(from, bytes, to);
}

void run(const Gather& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const size_t axis = axis_of(op.axis, in.rank());
  const int64_t size = in.dim(axis), count = indices.size();
  int64_t outer = count_between(in.shape(), 0, axis);
  if (c.out(0).size() == 0) outer = std::min<int64_t>(outer, 1);  // only the indices are checked
  const int64_t slice =
      count_between(in.shape(), axis + 1, in.rank()) * static_cast<int64_t>(cpu::element_bytes(in));
  const char* const from = static_cast<const char*>(in.data());
  char* const to = static_cast<char*>(c.out(0).data());
  const int64_t grain = std::max<int64_t>(1, piece_bytes / std::max<int64_t>(slice, 16));
  const int64_t elements = slice / static_cast<int64_t>(cpu::element_bytes(in));
  c.parallel(outer * count, grain, [&](int64_t begin, int64_t end) {
    cpu::StreamingEpilogue behind(c.epilogue(), begin * elements);
    int64_t o = begin / count, k = begin % count;
    for (int64_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) c.poll();
      const int64_t index = checked_index(c, index_at(indices, k), size);
      copy_slice(from + (o * size + index) * slice, slice, to + i * slice, c);
      behind.computed((i + 1) * elements);
      if (++k == count) {
        k = 0;
        ++o;
      }
    }
    behind.flush(end * elements);
  });
}

/// Elements between polls, and of a piece worth another thread.
constexpr int64_t picked_piece = 16384;

/// Some neighboring indices: their elements are `step` apart for equal indices, and `distance` for each unit
/// of an index along the axis.
template <class T, class I>
void pick_run(const KernelContext& c, const T* from, int64_t step, int64_t distance, int64_t extent,
              const I* index, int64_t n, T* __restrict to) {
  if (step == 0 && distance == 1) {
    for (int64_t k = 0; k < n; ++k) to[k] = from[checked_index(c, index[k], extent)];
    return;
  }
  for (int64_t k = 0; k < n; ++k, from += step) to[k] = from[checked_index(c, index[k], extent) * distance];
}

void pick(const GatherElements& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const PickedAxis walk(c, in.shape(), indices.shape(), axis_of(op.axis, in.rank()));
  Tensor& out = c.out(0);
  for_picked(in.type(), indices.type(), [&]<class T, class I> {
    const T* const from = in.as<T>().data();
    const I* const index = indices.as<I>().data();
    T* const to = out.as<T>().data();
    const int64_t step = walk.step(), distance = walk.pick, extent = walk.extent;
    c.parallel(out.size(), picked_piece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += picked_piece) {
        c.poll();
        walk.each_run(i, std::min(end, i + picked_piece), [&](int64_t first, int64_t offset, int64_t n) {
          pick_run(c, from + offset, step, distance, extent, index + first, n, to + first);
        });
      }
    });
  });
}

void pick_tuples(const GatherND& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const GatherTuples s(op, c, in.shape(), indices.shape());
  Tensor& out = c.out(0, in.type(), s.output);
  const int64_t* const numbers = indices.as<int64_t>().data();
  const auto bytes = static_cast<int64_t>(cpu::element_bytes(in));
  const int64_t slice = s.slice * bytes;
  const int64_t grain =
      std::max<int64_t>(1, piece_bytes / std::max<int64_t>({slice, 16, s.tuple * int64_t{8}}));
  for_size(in.type(), [&]<class T> {
    c.parallel(s.tuples, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if ((i - begin) % grain == 0) c.poll();
        const int64_t offset = s.offset(c, i, numbers + i * s.tuple);
        if (s.slice == 0) continue;
        if (s.slice == 1)
          out.as<T>()[static_cast<size_t>(i)] = in.as<T>()[static_cast<size_t>(offset)];
        else
          copy_slice(static_cast<const char*>(in.data()) + offset * bytes, slice,
                     static_cast<char*>(out.data()) + i * slice, c);
      }
    });
  });
}

}  // namespace

void cpu_gather(KernelCatalog& k) {
  k.add<Gather>({.op = "Gather",
                 .name = cpu::kernel_name("gather", Isa::generic),
                 .fuses_epilogue = true,
                 .any_alignment = 0},
                {.run = run, .supports = supports_gather<Gather>});
  k.add<GatherElements>({.op = "GatherElements", .name = cpu::kernel_name("gather_elements", Isa::generic)},
                        {.run = pick, .supports = supports_gather<GatherElements>});
  k.add<GatherND>({.op = "GatherND", .name = cpu::kernel_name("gather_nd", Isa::generic)},
                  {.run = pick_tuples, .supports = supports_gather<GatherND>});
}

}  // namespace lathe
