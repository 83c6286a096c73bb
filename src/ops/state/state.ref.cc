#include "ops/state/state.h"

#include <cstring>

#include "kernel/kernel.h"
#include "ops/movement.h"
#include "ops/scatter/cache_rows.h"

namespace lathe {
namespace {

/// Copies `count` indices along the axis, from the one at `from_first` to the one at `to_first`. The tensors
/// have so many along it for every index of the axes before, of which there are `outer`.
struct Rows {
  const void* from;
  void* to;
  int64_t outer, from_size, to_size;
  size_t bytes;  // of one index along the axis

  void copy(int64_t from_first, int64_t to_first, int64_t count, KernelContext& c) const {
    Poller poll(c);
    for (int64_t i = 0; i < outer; ++i)
      poll.copy(
          static_cast<const std::byte*>(from) + (i * from_size + from_first) * static_cast<int64_t>(bytes),
          count * static_cast<int64_t>(bytes),
          static_cast<std::byte*>(to) + (i * to_size + to_first) * static_cast<int64_t>(bytes));
  }
};

/// `shape`: that of either tensor, since both have the same but along the axis.
Rows rows_of(const Tensor& shape, size_t axis, const void* from, int64_t from_size, void* to,
             int64_t to_size) {
  int64_t outer = 1, inner = 1;
  for (size_t a = 0; a < axis; ++a) outer *= shape.dim(a);
  for (size_t a = axis + 1; a < shape.rank(); ++a) inner *= shape.dim(a);
  return {from, to, outer, from_size, to_size, static_cast<size_t>(inner) * bits_of(shape.type()) / 8};
}

void append(const Append& op, KernelContext& c) {
  const Tensor &old = c.in(0), &added = c.in(1);
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, out.rank());
  const int64_t length = old.dim(axis), more = out.dim(axis) - length, skipped = op.joined ? length : 0;
  if (more < 0 || added.dim(axis) - skipped != more)
    c.fail(Code::run_bad_shape,
           "elements to append to " + std::to_string(length) + " along axis " + std::to_string(axis),
           describe(added));
  if (const StateBlocks* const blocks = c.blocks(0)) {
    for (int64_t i = length; i < out.dim(axis); ++i)
      rows_of(added, axis, added.data(), added.dim(axis), blocks->data[i / blocks->rows], blocks->rows)
          .copy(skipped + i - length, i % blocks->rows, 1, c);
    return;
  }
  const int64_t capacity = c.capacity(0), old_size = capacity > 0 ? capacity : length,
                size = capacity > 0 && old.data() == out.data() ? capacity : out.dim(axis);
  if (old.data() != out.data())
    rows_of(old, axis, old.data(), old_size, out.data(), size).copy(0, 0, length, c);
  rows_of(added, axis, added.data(), added.dim(axis), out.data(), size).copy(skipped, length, more, c);
}

void update_cache(const UpdateCache& op, KernelContext& c) {
  const Tensor &old = c.in(0), &added = c.in(1);
  Tensor& out = c.out(0);
  const CacheRows u(c, op.axis);
  const int64_t bytes = u.inner * static_cast<int64_t>(bits_of(out.type())) / 8;
  const auto row = [&](const Tensor& t, int64_t o, int64_t size, int64_t i) {
    return static_cast<const std::byte*>(t.data()) + (o * size + i) * bytes;
  };
  Poller poll(c);
  for (int64_t o = 0; o < u.outer; ++o)
    for (int64_t i = 0, first = u.first(o); i < u.size; ++i) {
      auto* const to = static_cast<std::byte*>(out.data()) + (o * u.stride + i) * bytes;
      if (i >= first && i < first + u.rows)
        poll.copy(row(added, o, u.rows, i - first), bytes, to);
      else if (i >= u.old_size)
        std::memset(to, 0, static_cast<size_t>(bytes));
      else if (row(old, o, u.old_stride, i) != to)
        poll.copy(row(old, o, u.old_stride, i), bytes, to);
    }
}

void contiguous(const Contiguous& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const size_t axis = axis_of(op.axis, in.rank());
  Tensor& out = c.out(0);
  if (const StateBlocks* const blocks = c.blocks(0)) {
    for (int64_t i = 0; i < in.dim(axis); ++i)
      rows_of(in, axis, blocks->data[i / blocks->rows], blocks->rows, out.data(), in.dim(axis))
          .copy(i % blocks->rows, i, 1, c);
    return;
  }
  const int64_t size = c.capacity(0) > 0 ? c.capacity(0) : in.dim(axis);
  rows_of(in, axis, in.data(), size, out.data(), in.dim(axis)).copy(0, 0, in.dim(axis), c);
}

}  // namespace

void reference_state(KernelCatalog& k) {
  k.add<Append>({.op = "Append",
                 .domain = "lathe",
                 .name = "Append.ref",
                 .backend = "reference",
                 .takes_states = 1,
                 .takes_blocks = true,
                 .appends = {{0, 0}}},
                {.run = append});
  k.add<UpdateCache>({.op = "UpdateCache",
                      .domain = "lathe",
                      .name = "UpdateCache.ref",
                      .backend = "reference",
                      .takes_states = 1,
                      .appends = {{0, 0}}},
                     {.run = update_cache});
  k.add<Contiguous>({.op = "Contiguous",
                     .domain = "lathe",
                     .name = "Contiguous.ref",
                     .backend = "reference",
                     .takes_states = 1,
                     .takes_blocks = true},
                    {.run = contiguous});
}

}  // namespace lathe
