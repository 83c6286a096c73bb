#include "kernel/lean_reference.h"
#include "ops/scatter/cache_rows.h"
#include "ops/scatter/scatter_into.h"
#include "ops/scatter/scatter_slices.h"

namespace lathe {
namespace {

void scatter_elements(const ScatterElements& op, KernelContext& c) {
  const Tensor data = unpacked(c.in(0)), updates = unpacked(c.in(2));
  const Tensor& indices = c.in(1);
  const size_t axis = axis_of(op.axis, data.rank());
  if (!(indices.shape() == updates.shape()))
    c.fail(Code::run_bad_shape, "updates of the indices' shape " + describe(indices.shape()),
           describe(updates.shape()));
  for (size_t a = 0; a < data.rank(); ++a)
    if (a != axis && indices.dim(a) > data.dim(a))
      c.fail(Code::run_bad_shape, "indices within " + describe(data.shape()) + " but along the axis",
             describe(indices.shape()));
  ByteOutput out(c.out(0));
  copy_elements(data, out.tensor(), c);
  Shape strides = row_major(data.shape());
  const int64_t step = std::exchange(strides[axis], 0);
  scatter_into(scatter_rule(op.reduction), out.tensor(), [&]<class T>(std::span<T> to, auto put) {
    Poller poll(c);
    Odometer at(indices.shape(), strides);
    for (int64_t i = 0; i < indices.size(); ++i, at.next()) {
      poll.did(1);
      const int64_t index = checked_index(c, index_at(indices, i), data.dim(axis));
      put(to[static_cast<size_t>(at.offset() + index * step)], updates.as<T>()[static_cast<size_t>(i)]);
    }
  });
  out.finish();
}

void scatter_nd(const ScatterND& op, KernelContext& c) {
  const Tensor data = unpacked(c.in(0)), updates = unpacked(c.in(2));
  const Tensor& indices = c.in(1);
  const ScatterSlices s(c, data.shape(), indices.shape(), updates.shape());
  ByteOutput out(c.out(0));
  copy_elements(data, out.tensor(), c);
  const Shape strides = row_major(data.shape());
  scatter_into(scatter_rule(op.reduction), out.tensor(), [&]<class T>(std::span<T> to, auto put) {
    Poller poll(c);
    for (int64_t i = 0; i < s.tuples; ++i) {
      poll.did(1);  // there may be many empty tuples of empty slices
      int64_t offset = 0;
      for (int64_t k = 0; k < s.tuple; ++k) {
        const auto axis = static_cast<size_t>(k);
        offset += strides[axis] * checked_index(c, index_at(indices, i * s.tuple + k), data.dim(axis));
      }
      for (int64_t j = 0; j < s.slice; ++j) {
        poll.did(1);
        put(to[static_cast<size_t>(offset + j)], updates.as<T>()[static_cast<size_t>(i * s.slice + j)]);
      }
    }
  });
  out.finish();
}

void tensor_scatter(const TensorScatter& op, KernelContext& c) {
  const Tensor cache = unpacked(c.in(0)), update = unpacked(c.in(1));
  const CacheRows rows(c, op.axis, op.mode == "circular");
  ByteOutput out(c.out(0));
  copy_elements(cache, out.tensor(), c);
  if (update.size() == 0) return out.finish();
  for_size(cache.type(), [&]<class T> {
    Poller poll(c);
    const T* from = update.as<T>().data();
    for (int64_t o = 0; o < rows.outer; ++o)
      for (int64_t s = 0; s < rows.rows; ++s, from += rows.inner) {
        const int64_t at = (rows.first(o) + s) % rows.size;
        poll.copy(from, rows.inner, out.tensor().as<T>().data() + (o * rows.size + at) * rows.inner);
      }
  });
  out.finish();
}

}  // namespace

void reference_scatter(KernelCatalog& k) {
  lean_reference<ScatterElements>(k, "ScatterElements", scatter_elements);
  lean_reference<ScatterND>(k, "ScatterND", scatter_nd);
  lean_reference<TensorScatter>(k, "TensorScatter", tensor_scatter);
}

}  // namespace lathe
