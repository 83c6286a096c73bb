#include "ops/gather/gather.h"

#include "kernel/lean_reference.h"
#include "ops/gather/gather_tuples.h"

namespace lathe {
namespace {

void gather(const Gather& op, KernelContext& c) {
  const Tensor &in = c.in(0), &indices = c.in(1);
  Tensor& out = c.out(0);
  const size_t axis = axis_of(op.axis, in.rank());
  const int64_t size = in.dim(axis), inner = row_major(in.shape())[axis];
  int64_t outer = 1;
  for (size_t a = 0; a < axis; ++a) outer *= in.dim(a);
  if (out.size() == 0) outer = std::min<int64_t>(outer, 1);  // only the indices are checked
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
  const GatherTuples s(op, c, in.shape(), indices.shape());
  Tensor& out = c.out(0, in.type(), s.output);
  const auto numbers = indices.as<int64_t>();
  Poller poll(c);
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    T* at = to.data();
    for (int64_t i = 0; i < s.tuples; ++i) {
      poll.did(s.tuple);
      const int64_t offset = s.offset(c, i, numbers.data() + i * s.tuple);
      if (s.slice == 0) continue;
      poll.copy(from.data() + offset, s.slice, at);
      at += s.slice;
    }
  });
}

}  // namespace

void reference_gather(KernelCatalog& k) {
  lean_reference<Gather>(k, "Gather", gather);
  lean_reference<GatherElements>(k, "GatherElements", gather_elements);
  lean_reference<GatherND>(k, "GatherND", gather_nd);
}

}  // namespace lathe
