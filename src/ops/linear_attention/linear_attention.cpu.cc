// LinearAttention and CausalConvWithState for float32.
#include "ops/linear_attention/linear_attention.h"

#include <algorithm>
#include <cmath>

#include "cpu/attention.h"
#include "cpu/ceil_of.h"
#include "cpu/elementwise.h"
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/compute.h"
#include "tensor/dim_math.h"

namespace lathe {
namespace {

using cpu::ceil_of;
using cpu::floats;
using cpu::linear_columns;

int64_t whole_lines(int64_t floats) { return ceil_of(floats, 16) * 16; }

/// Sizes of one execution, cut into columns of the heads' states.
struct LinearSizes {
  LinearSizes(const LinearAttention& op, const Shape& k, const Shape& v)
      : batch(k[0]),
        length(k[1]),
        heads(op.kv_num_heads),
        shared(op.q_num_heads / heads),
        d_k(k[2] / heads),
        d_v(v[2] / heads),
        blocks(ceil_of(d_v, linear_columns)) {}
  int64_t tasks() const { return batch * heads * blocks; }
  int64_t slot(int threads) const {
    return cpu::slot_stride(times(d_k, linear_columns) + whole_lines(d_k), threads);
  }
  size_t scratch(int threads) const {
    return static_cast<size_t>(times(cpu::task_slots(tasks(), threads), slot(threads))) * sizeof(float);
  }

  int64_t batch, length, heads, shared, d_k, d_v, blocks;
};

size_t workspace(const LinearAttention& op, std::span<const Shape> inputs, int threads) {
  return LinearSizes(op, inputs[1], inputs[2]).scratch(threads);
}

/// Some columns of a head's state, through all steps.
class StateColumns {
 public:
  StateColumns(const cpu::LinearKernels& kernels, const LinearAttention& op, const LinearSizes& s,
               int64_t task, float* scratch, KernelContext& c)
      : kernels_(kernels),
        s_(s),
        b_(task / s.blocks / s.heads),
        h_(task / s.blocks % s.heads),
        first_(task % s.blocks * linear_columns),
        columns_(std::min(linear_columns, s.d_v - first_)),
        scale_(op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<float>(s.d_k))),
        state_(scratch),
        factors_(scratch + s.d_k * linear_columns),
        c_(c),
        poll_(c) {}

  void run() {
    start();
    for (int64_t t = 0; t < s_.length; ++t) {
      kernels_.step(step(b_ * s_.length + t));
      poll_.did((4 + s_.shared) * s_.d_k * columns_);
    }
    finish();
  }

 private:
  int64_t row_of_state(int64_t i) const { return ((b_ * s_.heads + h_) * s_.d_k + i) * s_.d_v + first_; }
  void start() {
    std::fill_n(state_, s_.d_k * linear_columns, 0.0f);
    const float* const past = floats(c_, 3);
    for (int64_t i = 0; past && i < s_.d_k; ++i)
      std::copy_n(past + row_of_state(i), columns_, state_ + i * linear_columns);
    poll_.did(s_.d_k * linear_columns);
  }
  void finish() {
    if (c_.outputs() < 2 || !c_.wants(1)) return;
    for (int64_t i = 0; i < s_.d_k; ++i)
      std::copy_n(state_ + i * linear_columns, columns_, floats(c_.out(1)) + row_of_state(i));
    poll_.did(s_.d_k * columns_);
  }
  cpu::LinearStep step(int64_t at) const {
    cpu::LinearStep step{.d_k = s_.d_k,
                         .d_v = s_.d_v,
                         .queries = s_.shared,
                         .columns = columns_,
                         .query = floats(c_, 0) + (at * s_.heads + h_) * s_.shared * s_.d_k,
                         .key = floats(c_, 1) + (at * s_.heads + h_) * s_.d_k,
                         .value = floats(c_, 2) + (at * s_.heads + h_) * s_.d_v + first_,
                         .scale = scale_,
                         .factors = factors_,
                         .state = state_,
                         .out = floats(c_.out(0)) + (at * s_.heads + h_) * s_.shared * s_.d_v + first_};
    if (cpu::has_input(c_, 4)) {
      const int64_t width = c_.in(4).dim(2);
      step.each = width != s_.heads;
      step.decay = floats(c_, 4) + at * width + h_ * (step.each ? s_.d_k : 1);
    }
    if (cpu::has_input(c_, 5)) {
      const int64_t width = c_.in(5).dim(2);
      step.beta = floats(c_, 5) + at * width + h_ % width;
    }
    return step;
  }

  const cpu::LinearKernels& kernels_;
  const LinearSizes& s_;
  const int64_t b_, h_, first_, columns_;
  const float scale_;
  float *const state_, *const factors_;
  KernelContext& c_;
  Poller poll_;
};

template <Isa isa>
void linear_attention(const LinearAttention& op, KernelContext& c) {
  const LinearSizes s(op, c.in(1).shape(), c.in(2).shape());
  auto* const scratch = static_cast<float*>(c.workspace(s.scratch(c.threads())));
  cpu::for_each_task(c, s.tasks(), [&](int64_t task, int64_t slot) {
    StateColumns(cpu::linear_kernels(isa), op, s, task, scratch + slot * s.slot(c.threads()), c).run();
  });
}

/// Steps that are filtered at once, and lines that make a task.
constexpr int64_t steps_at_once = 1024, lines_together = 64;

int64_t filter_slot(const Shape& w, int threads) {
  return cpu::slot_stride(w[2] - 1 + steps_at_once, threads);
}
int64_t filter_tasks(const Shape& x) { return ceil_of(x[0] * x[1], lines_together); }

size_t filter_workspace(const CausalConvWithState&, std::span<const Shape> inputs, int threads) {
  return static_cast<size_t>(cpu::task_slots(filter_tasks(inputs[0]), threads) *
                             filter_slot(inputs[1], threads)) *
         sizeof(float);
}

/// Lines, which are channels of sequences, of one run.
class FilteredLines {
 public:
  FilteredLines(Isa isa, const CausalConvWithState& op, KernelContext& c)
      : kernels_(cpu::linear_kernels(isa)),
        swish_(op.activation == "none"
                   ? nullptr
                   : cpu::elementwise_kernels(isa).unary[static_cast<size_t>(UnaryOp::swish)]),
        channels_(c.in(0).dim(1)),
        lines_(c.in(0).dim(0) * channels_),
        length_(c.in(0).dim(2)),
        k_(c.in(1).dim(2)),
        before_(k_ - 1),
        x_(floats(c, 0)),
        filters_(floats(c, 1)),
        bias_(floats(c, 2)),
        past_(floats(c, 3)),
        out_(floats(c.out(0))),
        last_(c.outputs() > 1 && c.wants(1) ? floats(c.out(1)) : nullptr) {}

  void run(int64_t task, float* scratch, KernelContext& c) const {
    Poller poll(c);
    const int64_t begin = task * lines_together, end = std::min(lines_, begin + lines_together);
    for (int64_t line = begin; line < end; ++line) {
      filter(line, scratch, poll);
      if (last_) copy(line, length_ - before_, before_, last_ + line * before_);
      poll.did(k_);
    }
    if (!swish_) return;
    poll.pieces((end - begin) * length_, 4, [&](int64_t first, int64_t last) {
      float* const to = out_ + begin * length_ + first;
      swish_(to, to, last - first, 1, 0);
    });
  }

 private:
  void filter(int64_t line, float* scratch, Poller& poll) const {
    const int64_t channel = line % channels_;
    for (int64_t t = 0; t < length_; t += steps_at_once) {
      const int64_t n = std::min(steps_at_once, length_ - t);
      copy(line, t - before_, before_ + n, scratch);
      kernels_.filter(scratch, filters_ + channel * k_, k_, bias_ ? bias_[channel] : 0,
                      out_ + line * length_ + t, n);
      poll.did((k_ + 1) * n);
    }
  }
  /// Elements of a line from `first` on; those before 0 are of the past, or 0.
  void copy(int64_t line, int64_t first, int64_t n, float* to) const {
    const int64_t earlier = std::clamp<int64_t>(-first, 0, n);
    if (past_)
      std::copy_n(past_ + line * before_ + before_ + first, earlier, to);
    else
      std::fill_n(to, earlier, 0.0f);
    std::copy_n(x_ + line * length_ + first + earlier, n - earlier, to + earlier);
  }

  const cpu::LinearKernels& kernels_;
  const cpu::UnaryRow swish_;  // null: none
  const int64_t channels_, lines_, length_, k_, before_;
  const float *const x_, *const filters_, *const bias_, *const past_;
  float *const out_, *const last_;
};

template <Isa isa>
void causal_conv(const CausalConvWithState& op, KernelContext& c) {
  const Shape &x = c.in(0).shape(), &w = c.in(1).shape();
  auto* const scratch =
      static_cast<float*>(c.workspace(filter_workspace(op, std::array<Shape, 2>{x, w}, c.threads())));
  const int64_t slot_floats = filter_slot(w, c.threads());
  const FilteredLines lines(isa, op, c);
  cpu::for_each_task(c, filter_tasks(x),
                     [&](int64_t task, int64_t slot) { lines.run(task, scratch + slot * slot_floats, c); });
}

}  // namespace

void cpu_linear_attention(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<LinearAttention>(
        {.op = "LinearAttention", .name = cpu::kernel_name("linear_attention", isa), .isa = isa},
        {.run = linear_attention<isa>,
         .supports = cpu::supports_float32<LinearAttention>,
         .workspace = workspace});
    k.add<CausalConvWithState>(
        {.op = "CausalConvWithState", .name = cpu::kernel_name("causal_conv", isa), .isa = isa},
        {.run = causal_conv<isa>,
         .supports = cpu::supports_float32<CausalConvWithState>,
         .workspace = filter_workspace});
  });
}

}  // namespace lathe
