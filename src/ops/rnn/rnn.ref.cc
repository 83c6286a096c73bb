#include "ops/rnn/rnn.h"

#include <vector>

#include "ops/compute.h"

namespace lathe {
namespace {

double recurrent_function(const RecurrentActivation& a, double x) {
  const double alpha = static_cast<double>(a.alpha), beta = static_cast<double>(a.beta);
  switch (a.function) {
    case RecurrentFunction::relu:
      return std::max(x, 0.0);
    case RecurrentFunction::tanh:
      return std::tanh(x);
    case RecurrentFunction::sigmoid:
      return 1 / (1 + std::exp(-x));
    case RecurrentFunction::affine:
      return alpha * x + beta;
    case RecurrentFunction::leaky_relu:
      return x >= 0 ? x : alpha * x;
    case RecurrentFunction::thresholded_relu:
      return x >= alpha ? x : 0;
    case RecurrentFunction::scaled_tanh:
      return alpha * std::tanh(beta * x);
    case RecurrentFunction::hard_sigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case RecurrentFunction::elu:
      return x >= 0 ? x : alpha * std::expm1(x);
    case RecurrentFunction::softsign:
      return x / (1 + std::abs(x));
    case RecurrentFunction::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

/// The weights and functions of a cell in one direction.
struct CellWeights {
  int64_t hidden;
  const double* recurrent;       // [gates * hidden, hidden]
  const double* recurrent_bias;  // [gates * hidden], or null
  const double* peepholes;       // LSTM: [3 * hidden], or null
  const RecurrentActivation* functions;
  std::optional<float> clip;
  Poller& poll;

  /// Row `row` of the recurrent weights times h.
  double recur(int64_t row, const double* h) const {
    poll.did(hidden);
    double sum = recurrent_bias ? recurrent_bias[row] : 0;
    for (int64_t k = 0; k < hidden; ++k) sum += recurrent[row * hidden + k] * h[k];
    return sum;
  }
  double apply(size_t function, double x) const {
    if (clip) x = std::min(std::max(x, -static_cast<double>(*clip)), static_cast<double>(*clip));
    return recurrent_function(functions[function], x);
  }
};

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Runs cell(weights, x, h, c) for every step of every sequence: x [gates * hidden] is W X + Wb of the step;
/// the cell replaces the states h and c [hidden].
template <class Cell>
void run_recurrent(const Recurrent& op, const RecurrentActivations& functions, int64_t gates,
                   KernelContext& c, Cell&& cell) {
  const bool has_cell_state = gates == 4;
  const Tensor x = in_double(c.in(0), c), w = in_double(c.in(1), c), r = in_double(c.in(2), c);
  const auto optional_input = [&](size_t i) { return c.has(i) ? in_double(c.in(i), c) : Tensor(); };
  const Tensor bias = optional_input(3), initial_h = optional_input(5);
  const Tensor initial_c = has_cell_state ? optional_input(6) : Tensor();
  const Tensor peepholes = has_cell_state ? optional_input(7) : Tensor();
  const int64_t dirs = op.directions(), input = x.dim(2), hidden = r.dim(2), rows = gates * hidden;
  const int64_t batch = x.dim(op.batch_first ? 0 : 1), seq = x.dim(op.batch_first ? 1 : 0);

  std::pmr::vector<int64_t> lengths(static_cast<size_t>(batch), seq, c.scratch());
  if (c.has(4)) lengths = integers_of(c.in(4), c);
  for (int64_t n : lengths)
    if (n < 0 || n > seq)
      c.fail(Code::run_bad_value, "sequence_lens in [0, " + std::to_string(seq) + "]", std::to_string(n));

  Tensor* y = c.wants(0) ? &c.out(0) : nullptr;
  Tensor* last_h = c.wants(1) ? &c.out(1) : nullptr;
  Tensor* last_c = has_cell_state && c.wants(2) ? &c.out(2) : nullptr;
  if (y) std::memset(y->data(), 0, y->bytes());  // the steps after the end of a sequence
  const auto state_offset = [&](int64_t d, int64_t n) {
    return (op.batch_first ? n * dirs + d : d * batch + n) * hidden;
  };

  c.parallel(dirs * batch, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    std::pmr::vector<double> h(static_cast<size_t>(hidden), c.scratch()), cell_state(h, c.scratch()),
        gate(static_cast<size_t>(rows), c.scratch());
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t d = piece / batch, n = piece % batch, length = lengths[static_cast<size_t>(n)];
      const double* weights = w.as<double>().data() + d * rows * input;
      const double* input_bias = bias.defined() ? bias.as<double>().data() + d * 2 * rows : nullptr;
      const CellWeights cell_weights{
          hidden,
          r.as<double>().data() + d * rows * hidden,
          input_bias ? input_bias + rows : nullptr,
          peepholes.defined() ? peepholes.as<double>().data() + d * 3 * hidden : nullptr,
          functions.data() + static_cast<size_t>(d) * (gates == 4   ? 3
                                                       : gates == 3 ? 2
                                                                    : 1),
          op.clip,
          poll};
      const auto start = [&](const Tensor& from, std::span<double> to) {
        if (from.defined())
          std::copy_n(from.as<double>().data() + state_offset(d, n), hidden, to.begin());
        else
          std::fill(to.begin(), to.end(), 0.0);
      };
      start(initial_h, h);
      start(initial_c, cell_state);
      for (int64_t step = 0; step < length; ++step) {
        poll.did(1);
        const int64_t t = op.backward(d) ? length - 1 - step : step;
        const double* now = x.as<double>().data() + (op.batch_first ? n * seq + t : t * batch + n) * input;
        for (int64_t row = 0; row < rows; ++row) {
          poll.did(input + 1);
          gate[static_cast<size_t>(row)] =
              dot(weights + row * input, now, input) + (input_bias ? input_bias[row] : 0);
        }
        cell(cell_weights, gate.data(), h.data(), cell_state.data());
        const int64_t at =
            op.batch_first ? ((n * seq + t) * dirs + d) * hidden : ((t * dirs + d) * batch + n) * hidden;
        for (int64_t i = 0; y && i < hidden; ++i) store_double(*y, at + i, h[static_cast<size_t>(i)]);
      }
      for (int64_t i = 0; i < hidden; ++i) {
        if (last_h) store_double(*last_h, state_offset(d, n) + i, h[static_cast<size_t>(i)]);
        if (last_c) store_double(*last_c, state_offset(d, n) + i, cell_state[static_cast<size_t>(i)]);
      }
    }
  });
}

void rnn(const Rnn& op, KernelContext& c) {
  run_recurrent(op, op.functions(), 1, c, [&](const CellWeights& w, const double* x, double* h, double*) {
    std::pmr::vector<double> next(static_cast<size_t>(w.hidden), c.scratch());
    for (int64_t i = 0; i < w.hidden; ++i) {
      next[static_cast<size_t>(i)] = w.apply(0, x[i] + w.recur(i, h));
    }
    std::copy(next.begin(), next.end(), h);
  });
}

void gru(const Gru& op, KernelContext& c) {
  run_recurrent(op, op.functions(), 3, c, [&](const CellWeights& w, const double* x, double* h, double*) {
    const int64_t n = w.hidden;
    std::pmr::vector<double> update(static_cast<size_t>(n), c.scratch()), reset(update, c.scratch()),
        reset_h(update, c.scratch());
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      update[at] = w.apply(0, x[i] + w.recur(i, h));
      reset[at] = w.apply(0, x[n + i] + w.recur(n + i, h));
      reset_h[at] = reset[at] * h[i];
    }
    std::pmr::vector<double> next(update, c.scratch());
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const double recurrent =
          op.linear_before_reset ? reset[at] * w.recur(2 * n + i, h) : w.recur(2 * n + i, reset_h.data());
      const double candidate = w.apply(1, x[2 * n + i] + recurrent);
      next[at] = (1 - update[at]) * candidate + update[at] * h[i];
    }
    std::copy(next.begin(), next.end(), h);
  });
}

void lstm(const Lstm& op, KernelContext& c) {
  run_recurrent(
      op, op.functions(), 4, c, [&](const CellWeights& w, const double* x, double* h, double* state) {
        const int64_t n = w.hidden;
        std::pmr::vector<double> next(static_cast<size_t>(n), c.scratch());
        const auto peep = [&](int64_t gate, int64_t i, double cell) {
          return w.peepholes ? w.peepholes[gate * n + i] * cell : 0;
        };
        for (int64_t i = 0; i < n; ++i) {
          const double before = state[i];
          const double in = w.apply(0, x[i] + w.recur(i, h) + peep(0, i, before));
          const double forget = op.input_forget
                                    ? 1 - in
                                    : w.apply(0, x[2 * n + i] + w.recur(2 * n + i, h) + peep(2, i, before));
          const double candidate = w.apply(1, x[3 * n + i] + w.recur(3 * n + i, h));
          state[i] = forget * before + in * candidate;
          const double out = w.apply(0, x[n + i] + w.recur(n + i, h) + peep(1, i, state[i]));
          // ONNX Runtime does not clip the cell's state, and neither do we.
          next[static_cast<size_t>(i)] = out * recurrent_function(w.functions[2], state[i]);
        }
        std::copy(next.begin(), next.end(), h);
      });
}

}  // namespace

void reference_rnn(KernelCatalog& k) {
  k.reference<Rnn>("RNN", rnn);
  k.reference<Gru>("GRU", gru);
  k.reference<Lstm>("LSTM", lstm);
}

}  // namespace lathe
