#include "ops/state/state.h"

#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/movement.h"
#include "ops/scatter/cache_rows.h"

namespace lathe {
namespace {

/// The strides of a tensor of this shape whose memory has `capacity` indices along the axis; 0: it is dense.
Shape strides_of(Shape shape, size_t axis, int64_t capacity) {
  if (capacity > 0) shape[axis] = capacity;
  return row_major(shape);
}

/// Calls f(block, first, begin, n) for the indices [begin, begin + n) of [from, to) that a block has from
/// `first` on.
template <class F>
void for_blocks(const StateBlocks& blocks, int64_t from, int64_t to, F&& f) {
  for (int64_t i = from; i < to;) {
    const int64_t first = i % blocks.rows, n = std::min(blocks.rows - first, to - i);
    f(static_cast<std::byte*>(blocks.data[i / blocks.rows]), first, i, n);
    i += n;
  }
}

void append(const Append& op, KernelContext& c) {
  const Tensor &old = c.in(0), &added = c.in(1);
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, out.rank());
  const int64_t capacity = c.capacity(0), length = old.dim(axis);
  Shape more = out.shape();
  more[axis] -= length;
  const int64_t skipped = op.joined ? length : 0;
  if (more[axis] < 0 || added.dim(axis) - skipped != more[axis])
    c.fail(Code::run_bad_shape,
           "elements to append to " + std::to_string(length) + " along axis " + std::to_string(axis),
           describe(added));
  const Shape to_strides = strides_of(out.shape(), axis, old.data() == out.data() ? capacity : 0),
              from_strides = row_major(added.shape());
  const size_t bytes = cpu::element_bytes(out);
  if (const StateBlocks* const blocks = c.blocks(0)) {
    const Shape strides = strides_of(out.shape(), axis, blocks->rows), from = row_major(added.shape());
    for_blocks(*blocks, length, out.dim(axis), [&](std::byte* block, int64_t first, int64_t i, int64_t n) {
      more[axis] = n;
      cpu::move({cpu::at(added, (skipped + i - length) * from[axis]), from},
                block + static_cast<size_t>(first * strides[axis]) * bytes, strides, more, bytes, c);
    });
    return;
  }
  if (old.data() != out.data())
    cpu::move({old.data(), strides_of(old.shape(), axis, capacity)}, out.data(), to_strides, old.shape(),
              bytes, c);
  cpu::move({cpu::at(added, skipped * from_strides[axis]), from_strides},
            cpu::at(out, length * to_strides[axis]), to_strides, more, bytes, c);
}
/// The state that is read is the one that is written, along the operator's axis.
template <class Op>
Support supports_growth(const Op& op, const KernelQuery& r) {
  const int32_t axis = r.inputs[0].grows_along;
  if (axis != r.outputs[0].grows_along || (axis >= 0 && axis != op.axis))
    return Support::no("another axis of a state");
  return cpu::refuse_unless_movable(r);
}

void update_cache(const UpdateCache& op, KernelContext& c) { write_rows(CacheRows(c, op.axis), c); }

void contiguous(const Contiguous& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, in.rank());
  if (const StateBlocks* const blocks = c.blocks(0)) {
    const Shape strides = strides_of(in.shape(), axis, blocks->rows), to = row_major(out.shape());
    Shape part = in.shape();
    const size_t bytes = cpu::element_bytes(out);
    for_blocks(*blocks, 0, in.dim(axis), [&](std::byte* block, int64_t first, int64_t i, int64_t n) {
      part[axis] = n;
      cpu::move({block + static_cast<size_t>(first * strides[axis]) * bytes, strides},
                cpu::at(out, i * to[axis]), to, part, bytes, c);
    });
    return;
  }
  cpu::move({in.data(), strides_of(in.shape(), axis, c.capacity(0))}, out.data(), row_major(out.shape()),
            out.shape(), cpu::element_bytes(out), c);
}
Support supports_contiguous(const Contiguous& op, const KernelQuery& r) {
  if (r.inputs[0].grows_along >= 0 && r.inputs[0].grows_along != op.axis)
    return Support::no("another axis of a state");
  return cpu::refuse_unless_movable(r);
}

}  // namespace

void cpu_state(KernelCatalog& k) {
  k.add<Append>({.op = "Append",
                 .domain = "lathe",
                 .name = cpu::kernel_name("append", Isa::generic),
                 .takes_states = 1,
                 .takes_blocks = true,
                 .appends = {{0, 0}}},
                {.run = append, .supports = supports_growth<Append>});
  k.add<UpdateCache>({.op = "UpdateCache",
                      .domain = "lathe",
                      .name = cpu::kernel_name("update_cache", Isa::generic),
                      .overwrites = true,
                      .takes_states = 1,
                      .appends = {{0, 0}}},
                     {.run = update_cache, .supports = supports_growth<UpdateCache>});
  k.add<Contiguous>({.op = "Contiguous",
                     .domain = "lathe",
                     .name = cpu::kernel_name("contiguous", Isa::generic),
                     .takes_states = 1,
                     .takes_blocks = true},
                    {.run = contiguous, .supports = supports_contiguous});
  k.replaces("Append", {"Concat"});
  k.replaces("UpdateCache", {"TensorScatter"});
  k.replaces("Contiguous", {});
}

}  // namespace lathe
