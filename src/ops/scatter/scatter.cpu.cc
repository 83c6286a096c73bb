// ScatterElements and ScatterND: elements and slices of whole bytes replace the data, or are combined with
// it. TensorScatter: rows of whole bytes, in the KV cache itself if nothing else reads it.
#include <algorithm>
#include <cstring>

#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/picked.h"
#include "ops/scatter/cache_rows.h"
#include "ops/scatter/scatter_into.h"
#include "ops/scatter/scatter_slices.h"

namespace lathe {
namespace {

template <class Op>
Support supports_scattered(const Op&, const KernelQuery& r) {
  return cpu::refuse_unless_movable(r);
}

/// Indices between polls.
constexpr int64_t scattered_piece = 16384;

/// Elements that only differ in the coordinate along the axis may be written more than once, and in order:
/// threads share the axes before it.
void scatter_elements_of(const ScatterElements& op, KernelContext& c) {
  const Tensor &data = c.in(0), &indices = c.in(1), &updates = c.in(2);
  const size_t axis = axis_of(op.axis, data.rank());
  if (!(indices.shape() == updates.shape()))
    c.fail(Code::run_bad_shape, "updates of the indices' shape " + describe(indices.shape()),
           describe(updates.shape()));
  const PickedAxis walk(c, data.shape(), indices.shape(), axis);
  Tensor& out = c.out(0);
  copy_elements(data, out, c);
  if (indices.size() == 0) return;
  const int64_t outer = count_between(indices.shape(), 0, axis), inner = indices.size() / outer;
  scatter_into(scatter_rule(op.reduction), out, [&]<class T>(std::span<T> to, auto put) {
    const T* const from = updates.as<T>().data();
    const auto write = [&]<class I>(const I* index) {
      const int64_t step = walk.step(), distance = walk.pick, extent = walk.extent;
      c.parallel(outer, std::max<int64_t>(1, scattered_piece / inner), [&](int64_t first, int64_t last) {
        for (int64_t i = first * inner, end = last * inner; i < end; i += scattered_piece) {
          c.poll();
          walk.each_run(i, std::min(end, i + scattered_piece), [&](int64_t k, int64_t offset, int64_t n) {
            for (const int64_t stop = k + n; k < stop; ++k, offset += step)
              put(to[static_cast<size_t>(offset + checked_index(c, index[k], extent) * distance)], from[k]);
          });
        }
      });
    };
    if (indices.type() == DataType::int32)
      write(indices.as<int32_t>().data());
    else
      write(indices.as<int64_t>().data());
  });
}

/// The offset in the data of the slice that a tuple of indices selects.
class SliceOffsets {
 public:
  SliceOffsets(KernelContext& c, const ScatterSlices& s)
      : c_(c),
        shape_(c.in(0).shape()),
        strides_(row_major(shape_)),
        numbers_(c.in(1).as<int64_t>().data()),
        tuple_(s.tuple) {}
  int64_t operator()(int64_t i) const {
    int64_t offset = 0;
    for (int64_t k = 0; k < tuple_; ++k) {
      const auto axis = static_cast<size_t>(k);
      offset += strides_[axis] * checked_index(c_, numbers_[i * tuple_ + k], shape_[axis]);
    }
    return offset;
  }

 private:
  KernelContext& c_;
  Shape shape_, strides_;
  const int64_t* numbers_;
  int64_t tuple_;
};

void replace_slices(const ScatterSlices& s, const Tensor& updates, Tensor& out, KernelContext& c) {
  const SliceOffsets offset_of(c, s);
  const auto element = static_cast<int64_t>(cpu::element_bytes(out)), bytes = s.slice * element;
  const char* from = static_cast<const char*>(updates.data());
  Poller poll(c);
  for (int64_t i = 0; i < s.tuples; ++i, from += bytes) {
    const int64_t offset = offset_of(i);
    poll.did(1 + s.tuple + bytes / 16);
    std::memcpy(static_cast<char*>(out.data()) + offset * element, from, static_cast<size_t>(bytes));
  }
}

/// Copies slices of whole bytes, or combines them by a reduction, in the order of the indices, since they may
/// overlap.
void scatter_slices(const ScatterND& op, KernelContext& c) {
  const Tensor &data = c.in(0), &updates = c.in(2);
  const ScatterSlices s(c, data.shape(), c.in(1).shape(), updates.shape());
  Tensor& out = c.out(0);
  copy_elements(data, out, c);
  const ScatterRule rule = scatter_rule(op.reduction);
  if (rule == ScatterRule::none) return replace_slices(s, updates, out, c);
  const SliceOffsets offset_of(c, s);
  scatter_into(rule, out, [&]<class T>(std::span<T> to, auto put) {
    const T* from = updates.as<T>().data();
    Poller poll(c);
    for (int64_t i = 0; i < s.tuples; ++i, from += s.slice) {
      poll.did(1 + s.tuple);
      T* const slice = to.data() + offset_of(i);
      poll.pieces(s.slice, 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) put(slice[j], from[j]);
      });
    }
  });
}

Support supports_rows(const TensorScatter&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void scatter_rows(const TensorScatter& op, KernelContext& c) {
  write_rows(CacheRows(c, op.axis, op.mode == "circular"), c);
}

}  // namespace

void cpu_scatter(KernelCatalog& k) {
  k.add<ScatterElements>(
      {.op = "ScatterElements", .name = cpu::kernel_name("scatter_elements", Isa::generic)},
      {.run = scatter_elements_of, .supports = supports_scattered<ScatterElements>});
  k.add<ScatterND>({.op = "ScatterND", .name = cpu::kernel_name("scatter_nd", Isa::generic)},
                   {.run = scatter_slices, .supports = supports_scattered<ScatterND>});
  k.add<TensorScatter>(
      {.op = "TensorScatter", .name = cpu::kernel_name("tensor_scatter", Isa::generic), .overwrites = true},
      {.run = scatter_rows, .supports = supports_rows});
}

}  // namespace lathe
