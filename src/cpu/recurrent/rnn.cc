#include "cpu/recurrent/rnn.h"

#include <algorithm>
#include <array>
#include <span>

#include "cpu/ceil_of.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/recurrent/rnn_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(RecurrentKernels, recurrent_kernels)

namespace {

/// Steps of fewer multiplications are not worth sharing.
constexpr int64_t min_step = int64_t{1} << 17;

/// The inputs' part of all gates takes at most this many floats, unless the product had fewer rows than the
/// least: its weights are read once for all rows, from memory if they are large.
constexpr int64_t inputs_part = int64_t{1} << 16, min_rows = 48, min_rows_from_memory = 256;
constexpr int64_t large_weights = int64_t{1} << 19;

/// The contiguous rows of the input in `count` steps: all of them, or those of one sequence.
int64_t rows_together(const RecurrentShape& s, int64_t count) {
  return s.batch_first && count < s.steps ? count : count * s.batch;
}

int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }

int64_t packed_input_of_direction(const GemmKernels& g, const RecurrentShape& s) {
  return packed_b_size(g, s.input, s.gates());
}
/// Recurrent weights are packed gate by gate, so that a gate's panels are whole.
int64_t packed_gate(const GemmKernels& g, const RecurrentShape& s) {
  return packed_b_size(g, s.hidden, s.hidden);
}
int64_t packed_recurrent_of_direction(const GemmKernels& g, const RecurrentShape& s) {
  return gates_of(s.cell) * packed_gate(g, s);
}

const void* element_at(DataType type, const void* x, int64_t i) {
  return static_cast<const std::byte*>(x) + i * bits_of(type) / 8;
}
void* element_at(DataType type, void* x, int64_t i) {
  return static_cast<std::byte*>(x) + i * bits_of(type) / 8;
}

/// The layout of one direction's scratch, in floats.
struct Scratch {
  explicit Scratch(const RecurrentShape& s)
      : packed_states(aligned(packed_a_size(s.batch, s.hidden))),
        x(0),
        bias(x + aligned(s.stretch() * s.batch * s.gates())),
        r(bias + aligned(s.gates())),
        h(r + aligned(s.batch * s.gates())),
        cell(h + aligned(s.batch * s.hidden)),
        reset(cell + aligned(s.batch * s.hidden)),
        packed(reset + aligned(s.batch * s.hidden)),
        size(packed + 3 * packed_states) {}
  int64_t packed_states;
  int64_t x;               // [stretch, batch, gates]: the inputs' part of all gates
  int64_t bias;            // added to the inputs' part
  int64_t r;               // [batch, gates]: the states' part
  int64_t h, cell, reset;  // [batch, hidden]
  int64_t packed;          // packed as A: the states before and after a step, and those that GRU resets
  int64_t size;
};

GateForm form_of(const Recurrence& run, const RecurrentActivation* functions) {
  using enum RecurrentFunction;
  const auto is_tanh = [](const RecurrentActivation& f) { return f.function == RecurrentFunction::tanh; };
  const RecurrentFunction gates = functions[0].function;
  if (run.shape.cell == Cell::rnn) return is_tanh(functions[0]) ? GateForm::usual : GateForm::any;
  if (run.input_forget || !std::all_of(functions + 1, functions + functions_of(run.shape.cell), is_tanh))
    return GateForm::any;
  return gates == sigmoid ? GateForm::usual : gates == hard_sigmoid ? GateForm::hard : GateForm::any;
}

/// One direction of a layer. A step has one phase or two; the results of a phase for some units depend on all
/// units of the phase before.
class Direction {
 public:
  Direction(Isa isa, const Recurrence& run, int64_t index, float* scratch, KernelContext& c)
      : g_(gemm_kernels(isa, c.strict())),
        kernels_(recurrent_kernels(isa)),
        run_(run),
        s_(run.shape),
        index_(index),
        functions_(run.functions + index * functions_of(s_.cell)),
        form_(form_of(run, functions_)),
        at_(s_),
        scratch_(scratch),
        tiles_(s_.batch, g_.MR),
        c_(c) {}

  /// Begins steps [first, first + count): computes the inputs' part of all their gates, on all threads.
  void enter(int64_t first, int64_t count, void* workspace) {
    first_ = first;
    first_time_ = backward() ? s_.steps - first - count : first;
    count_ = count;
    Products p{.m = rows_together(s_, count), .n = s_.gates(), .k = s_.input};
    p.packed_b = element_at(run_.weights, run_.w, index_ * packed_input_of_direction(g_, s_));
    p.packed_type = run_.weights;
    if (run_.bias) p.start = {scratch_ + at_.bias, 0, 1, 1};
    for (int64_t row = 0; row < count * s_.batch; row += p.m) {
      p.a = {run_.x +
                 (s_.batch_first ? row / count * s_.steps + first_time_ : first_time_ * s_.batch) * s_.input,
             s_.input, 1};
      p.c = scratch_ + at_.x + row * s_.gates();
      multiply(g_, p, workspace, c_);
    }
  }

  int64_t phases(int64_t steps) const { return steps * (resets_first() ? 2 : 1); }
  /// The number of panels that the units are divided into.
  int64_t panels() const { return g_.panels(s_.hidden); }

  void start() {
    if (run_.bias) {
      const float* const w = run_.bias + index_ * 2 * s_.gates();
      const float* const r = recurrent_bias();
      float* const bias = scratch_ + at_.bias;
      for (int64_t i = 0; i < s_.gates(); ++i) bias[i] = has_own_bias(i / s_.hidden) ? w[i] : r[i] + w[i];
    }
    start(scratch_ + at_.h, run_.initial_h);
    if (s_.cell == Cell::lstm) start(scratch_ + at_.cell, run_.initial_c);
    std::fill_n(scratch_ + at_.packed, 3 * at_.packed_states, 0.0f);
    for (int64_t b = 0; b < s_.batch; ++b)
      pack(scratch_ + at_.h + b * s_.hidden, b, {0, s_.hidden}, states(0));
  }
  /// Computes a phase for the units of panels [begin, end). Phases are counted from the step that was
  /// entered.
  void run(int64_t phase, int64_t begin, int64_t end) {
    const int64_t step = first_ + (resets_first() ? phase / 2 : phase);
    const Range units{begin * g_.NR, std::min(end * g_.NR, s_.hidden)};
    const bool backwards = step % 2 == 1;
    if (!resets_first()) {
      multiply_states(states(step), {0, gates_of(s_.cell)}, begin, end, backwards);
    } else if (phase % 2 == 0) {
      multiply_states(states(step), {0, candidate}, begin, end, backwards);
      return reset(step, units);
    } else {
      multiply_states(reset_states(), {candidate, candidate + 1}, begin, end, backwards);
    }
    for (int64_t b = 0; b < s_.batch; ++b) advance(step, b, units);
  }
  void finish() const {
    for (int64_t b = 0; b < s_.batch; ++b) {
      if (run_.last_h) std::copy_n(scratch_ + at_.h + b * s_.hidden, s_.hidden, run_.last_h + state(b));
      if (run_.last_c) std::copy_n(scratch_ + at_.cell + b * s_.hidden, s_.hidden, run_.last_c + state(b));
    }
  }

 private:
  static constexpr int64_t candidate = 2;  // of GRU's gates
  /// The half-open range [begin, end).
  struct Range {
    int64_t begin, end;
  };

  /// Returns whether GRU's candidate depends on states that the reset gate has scaled, so that all of them
  /// must be computed first.
  bool resets_first() const { return s_.cell == Cell::gru && !run_.linear_before_reset; }
  /// Returns whether GRU scales this gate's recurrent part, bias included, so that this bias is not added to
  /// the inputs' part.
  bool has_own_bias(int64_t gate) const {
    return run_.bias && run_.linear_before_reset && s_.cell == Cell::gru && gate == candidate;
  }
  const float* recurrent_bias() const { return run_.bias + (index_ * 2 + 1) * s_.gates(); }
  bool backward() const { return run_.backward || index_ == 1; }
  int64_t length(int64_t b) const { return run_.lengths ? run_.lengths[b] : s_.steps; }
  /// The offset of a sequence's states in the layer's inputs and outputs.
  int64_t state(int64_t b) const {
    return (s_.batch_first ? b * s_.directions + index_ : index_ * s_.batch + b) * s_.hidden;
  }
  /// The packed states before a step; the step writes those of the next one.
  float* states(int64_t step) const { return scratch_ + at_.packed + step % 2 * at_.packed_states; }
  float* reset_states() const { return scratch_ + at_.packed + 2 * at_.packed_states; }

  void start(float* to, const float* initial) const {
    if (!initial) return void(std::fill_n(to, s_.batch * s_.hidden, 0.0f));
    for (int64_t b = 0; b < s_.batch; ++b) std::copy_n(initial + state(b), s_.hidden, to + b * s_.hidden);
  }

  /// Packs some units of a row of states as A.
  void pack(const float* row, int64_t b, Range units, float* to) const {
    const PackedRow packed(tiles_, b, s_.hidden);
    for (int64_t u = units.begin, n; u < units.end; u += n) {
      n = std::min(a_block - u % a_block, units.end - u);
      float* const at = to + packed.first + u / a_block * packed.block + u % a_block;
      n == a_block ? std::copy_n(row + u, a_block, at) : std::copy_n(row + u, n, at);
    }
  }

  /// Computes the states' part of some gates for the units of panels [begin, end). `backwards`: in reverse
  /// order, since the weights that were read last are still in the caches.
  void multiply_states(const float* states, Range gates, int64_t begin, int64_t end, bool backwards) {
    for (int64_t i = gates.begin; i < gates.end; ++i) {
      const int64_t gate = backwards ? gates.begin + gates.end - 1 - i : i, first = gate * s_.hidden;
      const PackedProduct p{
          .m = s_.batch,
          .n = s_.hidden,
          .k = s_.hidden,
          .a = states,
          .b = element_at(run_.weights, run_.r,
                          index_ * packed_recurrent_of_direction(g_, s_) + gate * packed_gate(g_, s_)),
          .b_type = run_.weights,
          .b_row = g_.NR,
          .b_panel = g_.NR * s_.hidden,
          .c = scratch_ + at_.r + first,
          .c_row = s_.gates(),
          .start = {has_own_bias(gate) ? recurrent_bias() + first : nullptr, 0, 1, 1},
          .backwards = backwards};
      multiply_packed(g_, p, 0, tiles_.count(), begin, end, c_);
    }
  }

  void reset(int64_t step, Range units) const {
    for (int64_t b = 0; b < s_.batch; ++b) {
      GateStep s = gates(step, b, units);
      float* const row = scratch_ + at_.reset + b * s_.hidden;
      s.y = row + units.begin;
      kernels_.gru_reset(s);
      pack(row, b, units, reset_states());
    }
  }
  /// Updates a sequence's states by the gates.
  void advance(int64_t step, int64_t b, Range units) const {
    const auto kernel = s_.cell == Cell::lstm      ? kernels_.lstm
                        : s_.cell == Cell::rnn     ? kernels_.rnn
                        : run_.linear_before_reset ? kernels_.gru_linear
                                                   : kernels_.gru;
    if (step < length(b))
      kernel(gates(step, b, units));
    else if (run_.y)
      std::fill_n(output(step, b) + units.begin, units.end - units.begin, 0.0f);
    pack(scratch_ + at_.h + b * s_.hidden, b, units, states(step + 1));
  }

  /// The time of sequence b at step i: counted back from its own end if backward; past its end, it is i.
  int64_t time(int64_t i, int64_t b) const { return backward() && i < length(b) ? length(b) - 1 - i : i; }
  float* output(int64_t i, int64_t b) const {
    const int64_t t = time(i, b);
    return run_.y + (s_.batch_first ? (b * s_.steps + t) * s_.directions + index_
                                    : (t * s_.directions + index_) * s_.batch + b) *
                        s_.hidden;
  }
  GateStep gates(int64_t i, int64_t b, Range units) const {
    const int64_t u = units.begin, t = time(i, b) - first_time_;
    return {.x = scratch_ + at_.x + (s_.batch_first ? b * count_ + t : t * s_.batch + b) * s_.gates() + u,
            .r = scratch_ + at_.r + b * s_.gates() + u,
            .h = scratch_ + at_.h + b * s_.hidden + u,
            .c = scratch_ + at_.cell + b * s_.hidden + u,
            .y = run_.y ? output(i, b) + u : nullptr,
            .peepholes = run_.peepholes ? run_.peepholes + index_ * 3 * s_.hidden + u : nullptr,
            .hidden = s_.hidden,
            .units = units.end - u,
            .clip = run_.clip,
            .functions = functions_,
            .form = form_,
            .input_forget = run_.input_forget};
  }

  const GemmKernels& g_;
  const RecurrentKernels& kernels_;
  const Recurrence& run_;
  const RecurrentShape& s_;
  int64_t index_;
  const RecurrentActivation* functions_;
  GateForm form_;
  Scratch at_;
  float* scratch_;
  RowTiles tiles_;
  KernelContext& c_;
  int64_t first_ = 0, count_ = 0,
          first_time_ = 0;  // of the steps that were entered, in their order; first_time_ in that of x
};

size_t projection_workspace(const GemmKernels& g, const RecurrentShape& s) {
  static constexpr float somewhere = 0;
  Products p{.m = rows_together(s, s.stretch()), .n = s.gates(), .k = s.input};
  p.packed_b = &somewhere;
  return multiply_workspace(g, p);
}

}  // namespace

int64_t RecurrentShape::stretch() const {
  if (own_lengths || steps * batch * gates() == 0) return steps;  // backwards, each begins at another time
  const int64_t rows = gates() * input < large_weights ? min_rows : min_rows_from_memory;
  const int64_t least = batch_first ? rows : rows / batch;
  const int64_t most = std::max({int64_t{1}, least, inputs_part / (batch * gates())});
  return std::min(steps, most);
}

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
  for (int64_t i = 0; i < s.directions * gates_of(s.cell); ++i)
    pack_whole_b(g, type, element_at(type, to, i * packed_gate(g, s)),
                 element_at(type, r, i * s.hidden * s.hidden), 1, s.hidden, s.hidden, s.hidden, workers);
}

size_t recurrence_workspace(const GemmKernels& g, const RecurrentShape& s) {
  return static_cast<size_t>(s.directions * Scratch(s).size) * sizeof(float) + projection_workspace(g, s);
}

void run_recurrence(Isa isa, const Recurrence& r, void* workspace, KernelContext& c) {
  const RecurrentShape& s = r.shape;
  const int64_t size = Scratch(s).size;
  float* const scratch = static_cast<float*>(workspace);
  const auto direction = [&](int64_t i) { return Direction(isa, r, i, scratch + i * size, c); };
  std::array<Direction, 2> both{direction(0), direction(s.directions - 1)};
  const std::span<Direction> all(both.data(), static_cast<size_t>(s.directions));
  for (Direction& d : all) d.start();
  const int64_t panels = all[0].panels();
  // Directions that run in parallel need not wait for one another.
  const bool share = s.batch * s.gates() * s.hidden >= min_step && c.threads() > s.directions;
  for (int64_t first = 0; first < s.steps; first += s.stretch()) {
    const int64_t count = std::min(s.stretch(), s.steps - first), phases = all[0].phases(count);
    for (Direction& d : all) d.enter(first, count, scratch + s.directions * size);
    if (share)
      c.parallel_steps(phases, s.directions * panels, ceil_of(s.directions * panels, c.threads()),
                       [&](int64_t phase, int64_t begin, int64_t end) {
                         for (int64_t i = begin / panels; i * panels < end; ++i)
                           all[static_cast<size_t>(i)].run(phase, std::max(begin - i * panels, int64_t{0}),
                                                           std::min(end - i * panels, panels));
                       });
    else
      c.parallel(s.directions, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t phase = 0; phase < phases; ++phase) all[static_cast<size_t>(i)].run(phase, 0, panels);
      });
  }
  for (const Direction& d : all) d.finish();
}

}  // namespace lathe::cpu
