#include "ops/activation/activation.h"

#include <cmath>

#include "kernel/lean_reference.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

double sigmoid(double x) {
  // exp of what is not positive: no overflow on either side.
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

// One function per operator: its attributes and an element.
double activate(const Mish&, double x) { return x * std::tanh(softplus(x)); }
double activate(const Softplus&, double x) { return std::isnan(x) ? x : softplus(x); }
double activate(const Softsign&, double x) { return x / (1 + std::fabs(x)); }
double activate(const Sigmoid&, double x) { return sigmoid(x); }
double activate(const HardSwish&, double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); }
double activate(const LeakyRelu& op, double x) { return x < 0 ? op.alpha * x : x; }
double activate(const Elu& op, double x) { return x < 0 ? op.alpha * std::expm1(x) : x; }
double activate(const Celu& op, double x) { return x < 0 ? op.alpha * std::expm1(x / op.alpha) : x; }
double activate(const Selu& op, double x) {
  return op.gamma * (x <= 0 ? static_cast<double>(op.alpha) * std::expm1(x) : x);
}
double activate(const ThresholdedRelu& op, double x) { return x > op.alpha ? x : 0; }
double activate(const Swish& op, double x) { return x * sigmoid(op.alpha * x); }
double activate(const HardSigmoid& op, double x) {
  const double y = static_cast<double>(op.alpha) * x + op.beta;
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
double activate(const Gelu& op, double x) {
  constexpr double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
  if (!op.by_tanh()) return 0.5 * x * std::erfc(-x * sqrt_half);
  return 0.5 * x * (1 + std::tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

template <class Op>
void activation(const Op& op, KernelContext& c) {
  map_lanes<double>(c, 1, [&](const double* const* in, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = activate(op, in[0][i]);
  });
}

void relu(const Relu&, KernelContext& c) {
  map_numbers(c, 1, []<class L>(const L* const* in, L* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] < 0 ? L(0) : in[0][i];
  });
}

/// Computed in double for every type; integers are truncated at the end, as NumPy does.
void shrink(const Shrink& op, KernelContext& c) {
  map_lanes<double>(c, 1, [&](const double* const* in, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const double x = in[0][i];
      out[i] = x < -op.lambd ? x + op.bias : x > op.lambd ? x - op.bias : 0;
    }
  });
}

/// The bound at input `i`, or else the type's own.
template <class L>
L clip_bound(KernelContext& c, size_t i, L fallback) {
  if (c.has(i)) load_lanes(c.in(i), 0, 1, &fallback);
  return fallback;
}

/// The lowest and greatest finite number of a float type.
double greatest_float(DataType t) {
  switch (t) {
    case DataType::float64:
      return std::numeric_limits<double>::max();
    case DataType::float16:
      return 65504;
    case DataType::bfloat16:
      return to_float(BFloat16{0x7f7f});
    default:
      return std::numeric_limits<float>::max();
  }
}

void clip(const Clip&, KernelContext& c) {
  const double greatest = greatest_float(c.in(0).type());
  map_numbers(c, 1, [&]<class L>(const L* const* in, L* out, int64_t n) {
    constexpr bool real = std::is_same_v<L, double>;
    const L low = clip_bound<L>(c, 1, real ? static_cast<L>(-greatest) : std::numeric_limits<L>::min());
    const L high = clip_bound<L>(c, 2, real ? static_cast<L>(greatest) : std::numeric_limits<L>::max());
    for (int64_t i = 0; i < n; ++i) {
      const L x = in[0][i] < low ? low : in[0][i];
      out[i] = x > high ? high : x;
    }
  });
}

void prelu(const PRelu&, KernelContext& c) {
  map_numbers(c, 2, []<class L>(const L* const* in, L* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<L, double>)
        out[i] = in[0][i] < 0 ? in[0][i] * in[1][i] : in[0][i];
      else  // wraps around
        out[i] = in[0][i] < 0
                     ? static_cast<L>(static_cast<uint64_t>(in[0][i]) * static_cast<uint64_t>(in[1][i]))
                     : in[0][i];
    }
  });
}

void swiglu(const SwiGLU& op, KernelContext& c) {
  map_lanes<double>(c, 2, [&](const double* const* in, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] * sigmoid(op.alpha * in[0][i]) * in[1][i];
  });
}

}  // namespace

void reference_activation(KernelCatalog& k) {
  lean_reference<Relu>(k, "Relu", relu);
  lean_reference<Mish>(k, "Mish", activation<Mish>);
  lean_reference<Softplus>(k, "Softplus", activation<Softplus>);
  lean_reference<Softsign>(k, "Softsign", activation<Softsign>);
  lean_reference<Sigmoid>(k, "Sigmoid", activation<Sigmoid>);
  lean_reference<HardSwish>(k, "HardSwish", activation<HardSwish>);
  lean_reference<LeakyRelu>(k, "LeakyRelu", activation<LeakyRelu>);
  lean_reference<Elu>(k, "Elu", activation<Elu>);
  lean_reference<Celu>(k, "Celu", activation<Celu>);
  lean_reference<Selu>(k, "Selu", activation<Selu>);
  lean_reference<ThresholdedRelu>(k, "ThresholdedRelu", activation<ThresholdedRelu>);
  lean_reference<Swish>(k, "Swish", activation<Swish>);
  lean_reference<HardSigmoid>(k, "HardSigmoid", activation<HardSigmoid>);
  lean_reference<Gelu>(k, "Gelu", activation<Gelu>);
  lean_reference<Shrink>(k, "Shrink", shrink);
  lean_reference<Clip>(k, "Clip", clip);
  lean_reference<PRelu>(k, "PRelu", prelu);
  lean_reference<SwiGLU>(k, "SwiGLU", swiglu);
}

}  // namespace lathe
