#include "cpu/rnn.h"

#include <algorithm>
#include <utility>

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/rnn_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(RecurrentKernels, recurrent_kernels)

namespace {

/// Multiplications of a step below which it is not worth sharing.
constexpr int64_t least_step = int64_t{1} << 18;

int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }

/// The recurrent weights are packed in two parts: the gates, and GRU's candidate, which may see other states.
int64_t first_part(const RecurrentShape& s) { return s.cell == Cell::gru ? 2 * s.hidden : s.gates(); }

int64_t packed_input_of_direction(const GemmKernels& g, const RecurrentShape& s) {
  return packed_b_size(g, s.input, s.gates());
}
int64_t packed_recurrent_of_direction(const GemmKernels& g, const RecurrentShape& s) {
  return packed_b_size(g, s.hidden, first_part(s)) + packed_b_size(g, s.hidden, s.gates() - first_part(s));
}

const void* element_at(DataType type, const void* x, int64_t i) {
  return static_cast<const std::byte*>(x) + i * bits_of(type) / 8;
}
void* element_at(DataType type, void* x, int64_t i) {
  return static_cast<std::byte*>(x) + i * bits_of(type) / 8;
}

/// Scratch of one direction, in floats.
struct Scratch {
  explicit Scratch(const RecurrentShape& s)
      : x(0),
        bias(x + aligned(s.steps * s.batch * s.gates())),
        r(bias + aligned(s.gates())),
        h(r + aligned(s.batch * s.gates())),
        cell(h + aligned(s.batch * s.hidden)),
        reset(cell + aligned(s.batch * s.hidden)),
        packed(reset + aligned(s.batch * s.hidden)),
        size(packed + aligned(packed_a_size(s.batch, s.hidden))) {}
  int64_t x;               // [steps, batch, gates]: the inputs' part of all gates
  int64_t bias;            // added to the inputs' part
  int64_t r;               // [batch, gates]: the states' part
  int64_t h, cell, reset;  // [batch, hidden]
  int64_t packed;          // states as the product wants them
  int64_t size;
};

class Direction {
 public:
  Direction(Isa isa, const Recurrence& run, int64_t index, float* scratch, bool share_steps, KernelContext& c)
      : g_(gemm_kernels(isa, c.strict())),
        kernels_(recurrent_kernels(isa)),
        run_(run),
        s_(run.shape),
        index_(index),
        at_(s_),
        scratch_(scratch),
        share_(share_steps && s_.batch * s_.gates() * s_.hidden >= least_step),
        c_(c) {}

  /// The inputs' part of all gates at all steps; uses all threads.
  void project(void* workspace) {
    float* const bias = scratch_ + at_.bias;
    if (run_.bias) {
      const float* const w = run_.bias + index_ * 2 * s_.gates();
      const float* const r = recurrent_bias();
      for (int64_t i = 0; i < s_.gates(); ++i) bias[i] = is_apart(i) ? w[i] : r[i] + w[i];
    }
    Products p{.m = s_.steps * s_.batch, .n = s_.gates(), .k = s_.input};
    p.a = {run_.x, s_.input, 1};
    p.packed_b = element_at(run_.weights, run_.w, index_ * packed_input_of_direction(g_, s_));
    p.packed_type = run_.weights;
    p.c = scratch_ + at_.x;
    if (run_.bias) p.start = {bias, 0, 1, 1};
    multiply(g_, p, workspace, c_);
  }

  void run() {
    const int64_t state = s_.batch * s_.hidden;
    start(scratch_ + at_.h, run_.initial_h);
    if (s_.cell == Cell::lstm) start(scratch_ + at_.cell, run_.initial_c);
    for (step_ = 0; step_ < s_.steps; ++step_) step(step_);
    if (run_.last_h) std::copy_n(scratch_ + at_.h, state, run_.last_h + index_ * state);
    if (run_.last_c) std::copy_n(scratch_ + at_.cell, state, run_.last_c + index_ * state);
  }

 private:
  /// Does GRU scale this gate's recurrent part, bias included, so that it is no part of the inputs'?
  bool is_apart(int64_t gate) const {
    return run_.bias && run_.linear_before_reset && gate >= first_part(s_);
  }
  const float* recurrent_bias() const { return run_.bias + (index_ * 2 + 1) * s_.gates(); }
  bool backward() const { return run_.backward || index_ == 1; }
  int64_t length(int64_t b) const { return run_.lengths ? run_.lengths[b] : s_.steps; }

  void start(float* to, const float* initial) const {
    const int64_t state = s_.batch * s_.hidden;
    if (initial)
      std::copy_n(initial + index_ * state, state, to);
    else
      std::fill_n(to, state, 0.0f);
  }

  /// The recurrent part of columns [first, last) of the gates, from `states`.
  void multiply_states(const float* states, const void* weights, int64_t first, int64_t last) {
    float* const packed = scratch_ + at_.packed;
    const RowTiles tiles(s_.batch, g_.max_rows);
    for (int64_t t = 0; t < tiles.count(); ++t)
      g_.pack_a(packed + tiles.begin(t) * blocked(s_.hidden),
                {states + tiles.begin(t) * s_.hidden, s_.hidden, 1}, tiles.rows(t), s_.hidden, 1);
    const int64_t n = last - first, panels = g_.panels(n);
    const PackedProduct p{.m = s_.batch,
                          .n = n,
                          .k = s_.hidden,
                          .a = packed,
                          .b = weights,
                          .b_type = run_.weights,
                          .b_row = g_.panel_columns,
                          .b_panel = g_.panel_columns * s_.hidden,
                          .c = scratch_ + at_.r + first,
                          .c_row = s_.gates(),
                          .start = {is_apart(first) ? recurrent_bias() + first : nullptr, 0, 1, 1},
                          .backwards = step_ % 2 == 1};
    if (!share_) return multiply_packed(g_, p, 0, tiles.count(), 0, panels, c_);
    const int64_t work = s_.batch * s_.hidden * g_.panel_columns;
    c_.parallel(panels, std::max<int64_t>(1, least_step / 2 / work), [&](int64_t begin, int64_t end) {
      // Pieces go backwards as well: what was read last is in the caches still.
      const auto [from, to] = p.backwards ? std::pair(panels - end, panels - begin) : std::pair(begin, end);
      multiply_packed(g_, p, 0, tiles.count(), from, to, c_);
    });
  }

  void step(int64_t i) {
    const void* const weights =
        element_at(run_.weights, run_.r, index_ * packed_recurrent_of_direction(g_, s_));
    const void* const candidate =
        element_at(run_.weights, weights, packed_b_size(g_, s_.hidden, first_part(s_)));
    multiply_states(scratch_ + at_.h, weights, 0, first_part(s_));
    auto kernel = s_.cell == Cell::lstm ? kernels_.lstm : run_.relu ? kernels_.rnn_relu : kernels_.rnn_tanh;
    if (s_.cell == Cell::gru) {
      kernel = run_.linear_before_reset ? kernels_.gru_linear : kernels_.gru;
      const float* states = scratch_ + at_.h;
      if (!run_.linear_before_reset) {
        for (int64_t b = 0; b < s_.batch; ++b) {
          GateStep reset = gates(i, b);
          reset.y = scratch_ + at_.reset + b * s_.hidden;
          kernels_.gru_reset(reset);
        }
        states = scratch_ + at_.reset;
      }
      multiply_states(states, candidate, first_part(s_), s_.gates());
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      if (i < length(b))
        kernel(gates(i, b));
      else if (run_.y)
        std::fill_n(output(i, b), s_.hidden, 0.0f);
    }
  }

  /// When sequence b is at step i: backwards from its own end; past its end, step by step.
  int64_t time(int64_t i, int64_t b) const { return backward() && i < length(b) ? length(b) - 1 - i : i; }
  float* output(int64_t i, int64_t b) const {
    return run_.y + ((time(i, b) * s_.directions + index_) * s_.batch + b) * s_.hidden;
  }
  GateStep gates(int64_t i, int64_t b) const {
    return {.x = scratch_ + at_.x + (time(i, b) * s_.batch + b) * s_.gates(),
            .r = scratch_ + at_.r + b * s_.gates(),
            .h = scratch_ + at_.h + b * s_.hidden,
            .c = scratch_ + at_.cell + b * s_.hidden,
            .y = run_.y ? output(i, b) : nullptr,
            .hidden = s_.hidden,
            .clip = run_.clip,
            .slope = run_.slope,
            .offset = run_.offset};
  }

  const GemmKernels& g_;
  const RecurrentKernels& kernels_;
  const Recurrence& run_;
  const RecurrentShape& s_;
  int64_t index_;
  Scratch at_;
  float* scratch_;
  bool share_;
  int64_t step_ = 0;
  KernelContext& c_;
};

size_t projection_workspace(const GemmKernels& g, const RecurrentShape& s) {
  static constexpr float somewhere = 0;
  Products p{.m = s.steps * s.batch, .n = s.gates(), .k = s.input};
  p.packed_b = &somewhere;
  return multiply_workspace(g, p);
}

}  // namespace

int64_t packed_input_weights_size(const GemmKernels& g, const RecurrentShape& s) {
  return s.directions * packed_input_of_direction(g, s);
}
int64_t packed_recurrent_weights_size(const GemmKernels& g, const RecurrentShape& s) {
  return s.directions * packed_recurrent_of_direction(g, s);
}

void pack_input_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* w, void* to,
                        Workers& workers) {
  for (int64_t d = 0; d < s.directions; ++d)
    pack_whole_b(g, type, element_at(type, to, d * packed_input_of_direction(g, s)),
                 element_at(type, w, d * s.gates() * s.input), 1, s.input, s.input, s.gates(), workers);
}

void pack_recurrent_weights(const GemmKernels& g, const RecurrentShape& s, DataType type, const void* r,
                            void* to, Workers& workers) {
  const int64_t first = first_part(s);
  for (int64_t d = 0; d < s.directions; ++d) {
    const void* const from = element_at(type, r, d * s.gates() * s.hidden);
    void* const packed = element_at(type, to, d * packed_recurrent_of_direction(g, s));
    pack_whole_b(g, type, packed, from, 1, s.hidden, s.hidden, first, workers);
    pack_whole_b(g, type, element_at(type, packed, packed_b_size(g, s.hidden, first)),
                 element_at(type, from, first * s.hidden), 1, s.hidden, s.hidden, s.gates() - first, workers);
  }
}

size_t recurrence_workspace(const GemmKernels& g, const RecurrentShape& s) {
  return static_cast<size_t>(s.directions * Scratch(s).size) * sizeof(float) + projection_workspace(g, s);
}

void run_recurrence(Isa isa, const Recurrence& r, void* workspace, KernelContext& c) {
  const int64_t size = Scratch(r.shape).size;
  float* const scratch = static_cast<float*>(workspace);
  float* const projection = scratch + r.shape.directions * size;
  const bool side_by_side = r.shape.directions > 1 && c.threads() > 1;
  auto direction = [&](int64_t i) { return Direction(isa, r, i, scratch + i * size, !side_by_side, c); };
  for (int64_t i = 0; i < r.shape.directions; ++i) direction(i).project(projection);
  if (side_by_side) {
    c.parallel(r.shape.directions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) direction(i).run();
    });
  } else {
    for (int64_t i = 0; i < r.shape.directions; ++i) direction(i).run();
  }
}

}  // namespace lathe::cpu
