// ReverseSequence of elements of whole bytes: the steps are copied whole, on all threads.
#include "ops/reverse_sequence/reverse_sequence.h"

#include <algorithm>

#include "cpu/support.h"
#include "ops/movement.h"

namespace lathe {
namespace {

constexpr int64_t steps_piece = 16384;  // elements worth another thread

Support supports_steps(const ReverseSequence&, const KernelQuery& r) { return cpu::refuse_unless_movable(r); }

void reverse_steps(const ReverseSequence& op, KernelContext& c) {
  const Tensor &in = c.in(0), &lengths = c.in(1);
  const bool time_first = op.time_axis == 0;
  const int64_t batch = in.dim(time_first ? 1 : 0), time = in.dim(time_first ? 0 : 1);
  if (lengths.size() != batch)
    c.fail(Code::run_bad_shape, std::to_string(batch) + " sequence_lens", std::to_string(lengths.size()));
  Poller(c).pieces(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      if (const int64_t length = index_at(lengths, b); length < 0 || length > time)
        c.fail(Code::run_bad_value, "lengths in [0, " + std::to_string(time) + "]", std::to_string(length));
  });
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  const int64_t inner = out.size() / (batch * time);
  for_size(in.type(), [&]<class T> {
    const T* const from = in.as<T>().data();
    T* const to = out.as<T>().data();
    c.parallel(batch * time, std::max<int64_t>(1, steps_piece / inner), [&](int64_t begin, int64_t end) {
      Poller poll(c);
      c.poll();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = time_first ? i % batch : i / time, t = time_first ? i / batch : i % time;
        const int64_t length = index_at(lengths, b), source = t < length ? length - 1 - t : t;
        poll.copy(from + (time_first ? source * batch + b : b * time + source) * inner, inner,
                  to + i * inner);
      }
    });
  });
}

}  // namespace

void cpu_reverse_sequence(KernelCatalog& k) {
  k.add<ReverseSequence>(
      {.op = "ReverseSequence", .name = cpu::kernel_name("reverse_sequence", Isa::generic)},
      {.run = reverse_steps, .supports = supports_steps});
}

}  // namespace lathe
