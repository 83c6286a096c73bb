#include "ops/unary/unary.h"

#include <cmath>

#include "kernel/lean_reference.h"
#include "ops/elementwise/lanes.h"

namespace lathe {
namespace {

/// A function of floats.
template <class Op, auto function>
void real_function(const Op&, KernelContext& c) {
  map_lanes<double>(c, 1, [](const double* const* in, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = function(in[0][i]);
  });
}

template <class Op, auto function>
void real(KernelCatalog& k, const char* name) {
  lean_reference<Op>(k, name, real_function<Op, function>);
}

/// A function of whatever number there is.
template <class Op, auto function>
void number(KernelCatalog& k, const char* name) {
  lean_reference<Op>(k, name, [](const Op&, KernelContext& c) {
    map_numbers(c, 1, []<class L>(const L* const* in, L* out, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[i] = function(in[0][i]);
    });
  });
}

/// -x, wrapping around.
template <class L>
L negated(L x) {
  if constexpr (std::is_same_v<L, double>)
    return -x;
  else
    return static_cast<L>(0 - static_cast<uint64_t>(x));
}

template <class L>
L absolute(L x) {
  if constexpr (std::is_same_v<L, double>)
    return std::fabs(x);
  else
    return std::is_signed_v<L> && x < 0 ? negated(x) : x;
}

/// NaN stays NaN.
template <class L>
L sign_of(L x) {
  return x > 0 ? L(1) : x < 0 ? L(-1) : x;
}

void bitwise_not(const BitwiseNot&, KernelContext& c) {
  map_lanes<uint64_t>(c, 1, [](const uint64_t* const* in, uint64_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = ~in[0][i];
  });
}

void logical_not(const Not&, KernelContext& c) {
  map_lanes<uint64_t>(c, 1, [](const uint64_t* const* in, uint64_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] == 0;
  });
}

void is_inf(const IsInf& op, KernelContext& c) {
  map_lanes<double>(c, 1, [&](const double* const* in, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = std::isinf(in[0][i]) && (in[0][i] > 0 ? op.detect_positive : op.detect_negative);
  });
}

}  // namespace

void reference_unary(KernelCatalog& k) {
  real<Ceil, [](double x) { return std::ceil(x); }>(k, "Ceil");
  real<Floor, [](double x) { return std::floor(x); }>(k, "Floor");
  real<Round, [](double x) { return std::nearbyint(x); }>(k, "Round");
  real<Sqrt, [](double x) { return std::sqrt(x); }>(k, "Sqrt");
  real<Reciprocal, [](double x) { return 1 / x; }>(k, "Reciprocal");
  real<Exp, [](double x) { return std::exp(x); }>(k, "Exp");
  real<Log, [](double x) { return std::log(x); }>(k, "Log");
  real<Sin, [](double x) { return std::sin(x); }>(k, "Sin");
  real<Cos, [](double x) { return std::cos(x); }>(k, "Cos");
  real<Tan, [](double x) { return std::tan(x); }>(k, "Tan");
  real<Asin, [](double x) { return std::asin(x); }>(k, "Asin");
  real<Acos, [](double x) { return std::acos(x); }>(k, "Acos");
  real<Atan, [](double x) { return std::atan(x); }>(k, "Atan");
  real<Sinh, [](double x) { return std::sinh(x); }>(k, "Sinh");
  real<Cosh, [](double x) { return std::cosh(x); }>(k, "Cosh");
  real<Tanh, [](double x) { return std::tanh(x); }>(k, "Tanh");
  real<Asinh, [](double x) { return std::asinh(x); }>(k, "Asinh");
  real<Acosh, [](double x) { return std::acosh(x); }>(k, "Acosh");
  real<Atanh, [](double x) { return std::atanh(x); }>(k, "Atanh");
  real<Erf, [](double x) { return std::erf(x); }>(k, "Erf");
  real<IsNaN, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }>(k, "IsNaN");
  number<Neg, [](auto x) { return negated(x); }>(k, "Neg");
  number<Abs, [](auto x) { return absolute(x); }>(k, "Abs");
  number<Sign, [](auto x) { return sign_of(x); }>(k, "Sign");
  lean_reference<IsInf>(k, "IsInf", is_inf);
  lean_reference<BitwiseNot>(k, "BitwiseNot", bitwise_not);
  lean_reference<Not>(k, "Not", logical_not);
}

}  // namespace lathe
