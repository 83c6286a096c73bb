#include "ops/matmul/matmul.h"

#include "ops/matmul/matmul_loops.h"

namespace lathe {
namespace {

void matmul(const MatMul&, KernelContext& c) {
  const Tensor a = in_compute_type(c.in(0), c), b = in_compute_type(c.in(1), c);
  ComputeOutput y(c.out(0), c);
  const MatMulSizes s(a.shape(), b.shape());
  for_type(a.type(), Types<float, double, int32_t, int64_t, uint32_t, uint64_t>{}, [&]<class T> {
    using Sum = Accumulator<T>;
    s.for_each_matrix([&](int64_t at_a, int64_t at_b, int64_t at_y) {
      T* to = y.tensor().as<T>().data() + at_y;
      multiply<Sum>(s.m, s.n, s.inner, MatrixView<T>{a.as<T>().data() + at_a, s.inner, 1},
                    MatrixView<T>{b.as<T>().data() + at_b, s.n, 1}, c,
                    [&](int64_t i, int64_t j, const Sum* sums, int64_t count) {
                      for (int64_t k = 0; k < count; ++k) to[i * s.n + j + k] = static_cast<T>(sums[k]);
                    });
    });
  });
  y.finish();
}

}  // namespace

void reference_matmul(KernelCatalog& k) { k.reference<MatMul>("MatMul", matmul); }

}  // namespace lathe
