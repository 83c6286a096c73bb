#include "ops/gemm/gemm.h"

#include "ops/matmul/matmul_loops.h"

namespace lathe {
namespace {

/// factor * x; integers are truncated towards zero, and clamped if the type cannot hold the product.
double times_factor(float factor, double x) { return static_cast<double>(factor) * x; }
template <class T>
uint64_t times_factor(float factor, uint64_t x) {
  if (factor == 1) return x;
  const double r = std::trunc(static_cast<double>(factor) * static_cast<double>(static_cast<T>(x)));
  using Limits = std::numeric_limits<T>;
  if (!(r > static_cast<double>(Limits::min()))) return static_cast<uint64_t>(Limits::min());
  if (r >= static_cast<double>(Limits::max())) return static_cast<uint64_t>(Limits::max());
  return static_cast<uint64_t>(static_cast<T>(r));
}

void gemm(const Gemm& op, KernelContext& c) {
  const Tensor a = in_compute_type(c.in(0), c), b = in_compute_type(c.in(1), c);
  const bool biased = c.has(2) && op.beta != 0;
  const Tensor bias = biased ? in_compute_type(c.in(2), c) : Tensor();
  ComputeOutput y(c.out(0), c);
  const int64_t m = y.tensor().dim(0), n = y.tensor().dim(1), inner = a.dim(op.trans_a ? 0 : 1);
  int64_t bias_row = 0, bias_column = 0;
  if (biased) {
    const Shape& s = bias.shape();
    bias_column = !s.empty() && s.back() != 1 ? 1 : 0;
    bias_row = s.size() == 2 && s[0] != 1 ? s[1] : 0;
  }
  for_type(a.type(), Types<float, double, int32_t, int64_t, uint32_t, uint64_t>{}, [&]<class T> {
    using Sum = Accumulator<T>;
    const auto scaled = [](float factor, Sum x) {
      if constexpr (std::is_integral_v<T>)
        return times_factor<T>(factor, x);
      else
        return times_factor(factor, x);
    };
    const MatrixView<T> left{a.as<T>().data(), op.trans_a ? 1 : inner, op.trans_a ? m : 1};
    const MatrixView<T> right{b.as<T>().data(), op.trans_b ? 1 : n, op.trans_b ? inner : 1};
    const T* offset = biased ? bias.as<T>().data() : nullptr;
    T* to = y.tensor().as<T>().data();
    multiply<Sum>(m, n, inner, left, right, c, [&](int64_t i, int64_t j, const Sum* sums, int64_t count) {
      for (int64_t k = 0; k < count; ++k) {
        Sum sum = scaled(op.alpha, sums[k]);
        if (biased) sum += scaled(op.beta, static_cast<Sum>(offset[i * bias_row + (j + k) * bias_column]));
        to[i * n + j + k] = static_cast<T>(sum);
      }
    });
  });
  y.finish();
}

}  // namespace

void reference_gemm(KernelCatalog& k) { k.reference<Gemm>("Gemm", gemm); }

}  // namespace lathe
