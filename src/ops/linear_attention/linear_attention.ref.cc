#include "ops/linear_attention/linear_attention.h"

#include "ops/compute.h"

namespace lathe {
namespace {

/// One head of keys and values over all of its steps: decay, correct, write, read.
struct Head {
  int64_t d_k, d_v;
  double* state;   // [d_k, d_v]
  double* change;  // [d_v]

  void decay(const double* logarithms, bool each) {
    for (int64_t i = 0; i < d_k; ++i) {
      const double factor = std::exp(logarithms[each ? i : 0]);
      for (int64_t j = 0; j < d_v; ++j) state[i * d_v + j] *= factor;
    }
  }
  /// change = beta (change - the state's value for this key)
  void correct(const double* key, double beta) {
    for (int64_t i = 0; i < d_k; ++i)
      for (int64_t j = 0; j < d_v; ++j) change[j] -= key[i] * state[i * d_v + j];
    for (int64_t j = 0; j < d_v; ++j) change[j] *= beta;
  }
  void write(const double* key) {
    for (int64_t i = 0; i < d_k; ++i)
      for (int64_t j = 0; j < d_v; ++j) state[i * d_v + j] += key[i] * change[j];
  }
  double read(const double* query, int64_t j) const {
    double sum = 0;
    for (int64_t i = 0; i < d_k; ++i) sum += query[i] * state[i * d_v + j];
    return sum;
  }
};

void linear_attention(const LinearAttention& op, KernelContext& c) {
  const Tensor q = in_double(c.in(0), c), k = in_double(c.in(1), c), v = in_double(c.in(2), c);
  std::optional<Tensor> decay, beta;
  if (c.has(4)) decay = in_double(c.in(4), c);
  if (c.has(5)) beta = in_double(c.in(5), c);
  const int64_t batch = q.dim(0), length = q.dim(1), heads = op.kv_num_heads, shared = op.q_num_heads / heads;
  const int64_t d_k = k.dim(2) / heads, d_v = v.dim(2) / heads;
  const double scale =
      op.scale != 0 ? static_cast<double>(op.scale) : 1 / std::sqrt(static_cast<double>(d_k));
  Tensor state = temporary(c, DataType::float64, {batch, heads, d_k, d_v});
  Poller poll(c);
  if (c.has(3))
    poll.copy(in_double(c.in(3), c).as<double>().data(), state.size(), state.as<double>().data());
  else
    poll.fill(state.as<double>().data(), state.size(), 0.0);
  std::pmr::vector<double> change(static_cast<size_t>(d_v), c.scratch());
  Tensor& out = c.out(0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      Head head{d_k, d_v, state.as<double>().data() + (b * heads + h) * d_k * d_v, change.data()};
      for (int64_t t = 0; t < length; ++t) {
        const int64_t step = b * length + t;
        const double* key = k.as<double>().data() + (step * heads + h) * d_k;
        std::copy_n(v.as<double>().data() + (step * heads + h) * d_v, d_v, change.data());
        if (decay) {
          const int64_t width = decay->dim(2);
          const bool each = width != heads;
          head.decay(decay->as<double>().data() + step * width + h * (each ? d_k : 1), each);
        }
        if (beta)
          head.correct(key, beta->as<double>()[static_cast<size_t>(step * beta->dim(2) + h % beta->dim(2))]);
        head.write(key);
        for (int64_t s = 0; s < shared; ++s) {
          const int64_t query = step * op.q_num_heads + h * shared + s;
          for (int64_t j = 0; j < d_v; ++j)
            store_double(out, query * d_v + j, scale * head.read(q.as<double>().data() + query * d_k, j));
        }
        poll.did((4 + shared) * d_k * d_v);
      }
    }
  if (!c.wants(1)) return;
  for (int64_t i = 0; i < state.size(); ++i, poll.did(1))
    store_double(c.out(1), i, state.as<double>()[static_cast<size_t>(i)]);
}

void causal_conv(const CausalConvWithState& op, KernelContext& c) {
  const Tensor x = in_double(c.in(0), c), w = in_double(c.in(1), c);
  std::optional<Tensor> bias, past;
  if (c.has(2)) bias = in_double(c.in(2), c);
  if (c.has(3)) past = in_double(c.in(3), c);
  const int64_t channels = x.dim(1), length = x.dim(2), k = w.dim(2), before = k - 1;
  Tensor& out = c.out(0);
  Poller poll(c);
  for (int64_t line = 0; line < x.dim(0) * channels; ++line) {
    const double* now = x.as<double>().data() + line * length;
    const double* then = past ? past->as<double>().data() + line * before : nullptr;
    /// Element t of the line; those before the first are of the past.
    const auto at = [&](int64_t t) { return t >= 0 ? now[t] : then ? then[t + before] : 0.0; };
    const double* filter = w.as<double>().data() + line % channels * k;
    for (int64_t t = 0; t < length; ++t) {
      double sum = bias ? bias->as<double>()[static_cast<size_t>(line % channels)] : 0;
      for (int64_t i = 0; i < k; ++i) sum += filter[i] * at(t - before + i);
      store_double(out, line * length + t, op.activation == "none" ? sum : sum / (1 + std::exp(-sum)));
      poll.did(2 * k);
    }
    if (c.wants(1))
      for (int64_t i = 0; i < before; ++i, poll.did(1))
        store_double(c.out(1), line * before + i, at(length - before + i));
  }
}

}  // namespace

void reference_linear_attention(KernelCatalog& k) {
  k.reference<LinearAttention>("LinearAttention", linear_attention);
  k.reference<CausalConvWithState>("CausalConvWithState", causal_conv);
}

}  // namespace lathe
