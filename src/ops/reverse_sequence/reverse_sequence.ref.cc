#include "ops/reverse_sequence/reverse_sequence.h"

#include "kernel/lean_reference.h"
#include "ops/movement.h"

namespace lathe {
namespace {

void reverse_sequence(const ReverseSequence& op, KernelContext& c) {
  const Tensor &in = c.in(0), &lengths = c.in(1);
  const auto batch_axis = static_cast<size_t>(op.batch_axis), time_axis = static_cast<size_t>(op.time_axis);
  const int64_t batch = in.dim(batch_axis), time = in.dim(time_axis);
  if (lengths.size() != batch)
    c.fail(Code::run_bad_shape, std::to_string(batch) + " sequence_lens", std::to_string(lengths.size()));
  Tensor& out = c.out(0);
  const Shape strides = row_major(in.shape());
  const int64_t inner = out.size() == 0 ? 0 : strides[1];
  move_elements(in, out, [&]<class T>(std::span<const T> from, std::span<T> to) {
    Poller poll(c);
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = index_at(lengths, b);
      if (length < 0 || length > time)
        c.fail(Code::run_bad_value, "lengths in [0, " + std::to_string(time) + "]", std::to_string(length));
      for (int64_t t = 0; t < time && inner > 0; ++t) {
        const int64_t source = t < length ? length - 1 - t : t;
        poll.copy(from.data() + b * strides[batch_axis] + source * strides[time_axis], inner,
                  to.data() + b * strides[batch_axis] + t * strides[time_axis]);
      }
    }
  });
}

}  // namespace

void reference_reverse_sequence(KernelCatalog& k) {
  lean_reference<ReverseSequence>(k, "ReverseSequence", reverse_sequence);
}

}  // namespace lathe
