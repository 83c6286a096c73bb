#include "ops/gather/gather.h"

#include "ops/movement.h"

namespace lathe {
namespace {

void gather(const Gather& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, in.rank());
  const int64_t size = in.dim(axis), inner = row_major(in.shape())[axis];
  int64_t outer = 1;
  for (size_t a = 0; a < axis; ++a) outer *= in.dim(a);
  if (out.size() == 0) outer = std::min<int64_t>(outer, 1);  // only the indices are looked at
  Poller poll(c);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    T* at = to.data();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < indices.size(); ++i) {
        poll.did(1);
        const int64_t index = checked_index(c, index_at(indices, i), size);
        if (to.empty()) continue;
        poll.copy(from.data() + (o * size + index) * inner, inner, at);
        at += inner;
      }
  });
}

void gather_elements(const GatherElements& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const size_t axis = axis_of(op.axis, in.rank());
  for (size_t a = 0; a < in.rank(); ++a)
    if (a != axis && indices.dim(a) > in.dim(a))
      c.fail(Code::run_bad_shape, "indices within " + describe(in.shape()) + " but along the axis",
             describe(indices.shape()));
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  Shape strides = row_major(in.shape());
  const int64_t step = std::exchange(strides[axis], 0);
  Poller poll(c);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    Odometer at(indices.shape(), strides);
    for (int64_t i = 0; i < indices.size(); ++i, at.next()) {
      poll.did(1);
      const int64_t index = checked_index(c, index_at(indices, i), in.dim(axis));
      to[static_cast<size_t>(i)] = from[static_cast<size_t>(at.offset() + index * step)];
    }
  });
}

void gather_nd(const GatherND& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  const auto batch_dims = static_cast<size_t>(op.batch_dims), rank = in.rank();
  const auto tuple = static_cast<size_t>(indices.shape().back());
  if (batch_dims + tuple > rank)
    c.fail(Code::run_bad_shape, "index tuples of at most " + std::to_string(rank - batch_dims) + " numbers",
           std::to_string(tuple));
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  for (size_t a = 0; a < batch_dims; ++a)
    if (in.dim(a) != indices.dim(a))
      c.fail(Code::run_bad_shape, "batch axes that agree",
             describe(in.shape()) + " and " + describe(indices.shape()));
  for (size_t a = batch_dims + tuple; a < rank; ++a) shape.push_back(in.dim(a));
  Tensor& out = c.out(0, in.type(), shape);

  const Shape strides = row_major(in.shape());
  int64_t slice = 1, batches = 1;
  for (size_t a = batch_dims + tuple; a < rank; ++a) slice *= in.dim(a);
  for (size_t a = 0; a < batch_dims; ++a) batches *= in.dim(a);
  const int64_t tuples = tuple ? indices.size() / static_cast<int64_t>(tuple) : 0;
  const int64_t per_batch = batches ? tuples / batches : 0;
  Poller poll(c);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    T* at = to.data();
    for (int64_t i = 0; i < tuples; ++i) {
      poll.did(static_cast<int64_t>(tuple));
      int64_t offset = batch_dims ? i / per_batch * strides[batch_dims - 1] : 0;
      for (size_t k = 0; k < tuple; ++k)
        offset +=
            strides[batch_dims + k] *
            checked_index(c, index_at(indices, i * static_cast<int64_t>(tuple) + static_cast<int64_t>(k)),
                          in.dim(batch_dims + k));
      if (slice == 0) continue;
      poll.copy(from.data() + offset, slice, at);
      at += slice;
    }
  });
}

}  // namespace

void reference_gather(KernelCatalog& k) {
  k.reference<Gather>("Gather", gather);
  k.reference<GatherElements>("GatherElements", gather_elements);
  k.reference<GatherND>("GatherND", gather_nd);
}

}  // namespace lathe
