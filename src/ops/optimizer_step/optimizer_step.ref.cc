#include "ops/optimizer_step/optimizer_step.h"

#include "ops/compute.h"

namespace lathe {
namespace {

/// One element: x is trained, g its gradient, v and h are kept.
struct Trained {
  double x, g, v = 0, h = 0;
};

double rate_of(KernelContext& c) { return load_double(c.in(0), 0); }
double updates_of(KernelContext& c) { return static_cast<double>(load_int(c.in(1), 0)); }

/// Calls f with each element of each tensor; writes what became of it.
template <size_t kept, class F>
void each_element(KernelContext& c, F&& f) {
  if (c.in(0).size() != 1 || c.in(1).size() != 1)
    c.fail(Code::run_bad_shape, "one rate and one count", "more");
  constexpr size_t groups = OptimizerStep<kept>::groups;
  const size_t trained = (c.inputs() - 2) / groups;
  Poller poll(c);
  for (size_t t = 0; t < trained; ++t) {
    const auto input = [&](size_t group) -> const Tensor& { return c.in(2 + t + group * trained); };
    const auto write = [&](size_t group, int64_t i, double v) {
      if (c.wants(t + group * trained)) store_double(c.out(t + group * trained), i, v);
    };
    for (int64_t i = 0; i < input(0).size(); ++i) {
      poll.did(16);
      Trained e{load_double(input(0), i), load_double(input(1), i), load_double(input(2), i)};
      if constexpr (kept == 2) e.h = load_double(input(3), i);
      f(e);
      write(0, i, e.x);
      write(1, i, e.v);
      if constexpr (kept == 2) write(2, i, e.h);
    }
  }
}

void adagrad(const Adagrad& op, KernelContext& c) {
  const double rate = rate_of(c) / (1 + updates_of(c) * static_cast<double>(op.decay_factor));
  each_element<1>(c, [&](Trained& e) {
    const double g = static_cast<double>(op.norm_coefficient) * e.x + e.g;
    e.v += g * g;
    e.x -= rate * g / (std::sqrt(e.v) + static_cast<double>(op.epsilon));
  });
}

void momentum(const Momentum& op, KernelContext& c) {
  const double rate = rate_of(c), alpha = static_cast<double>(op.alpha);
  const double beta = updates_of(c) > 0 ? static_cast<double>(op.beta) : 1;
  each_element<1>(c, [&](Trained& e) {
    const double g = static_cast<double>(op.norm_coefficient) * e.x + e.g;
    e.v = alpha * e.v + beta * g;
    e.x -= rate * (op.mode == "nesterov" ? g + alpha * e.v : e.v);
  });
}

void adam(const Adam& op, KernelContext& c) {
  const double alpha = static_cast<double>(op.alpha), beta = static_cast<double>(op.beta),
               count = updates_of(c);
  const double rate = count > 0
                          ? rate_of(c) * std::sqrt(1 - std::pow(beta, count)) / (1 - std::pow(alpha, count))
                          : rate_of(c);
  each_element<2>(c, [&](Trained& e) {
    const double g = static_cast<double>(op.norm_coefficient) * e.x + e.g;
    e.v = alpha * e.v + (1 - alpha) * g;
    e.h = beta * e.h + (1 - beta) * g * g;
    e.x -= rate * e.v / (std::sqrt(e.h) + static_cast<double>(op.epsilon));
    e.x *= 1 - static_cast<double>(op.norm_coefficient_post);
  });
}

}  // namespace

void reference_optimizer_step(KernelCatalog& k) {
  k.reference<Adagrad>("Adagrad", adagrad, "ai.onnx.preview.training");
  k.reference<Momentum>("Momentum", momentum, "ai.onnx.preview.training");
  k.reference<Adam>("Adam", adam, "ai.onnx.preview.training");
}

}  // namespace lathe
