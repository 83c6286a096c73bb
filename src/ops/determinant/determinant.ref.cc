#include "ops/determinant/determinant.h"

#include "ops/compute.h"

namespace lathe {
namespace {

/// Gaussian elimination with the greatest element of each column as pivot; overwrites `m` [n, n].
double determinant_of(double* m, int64_t n, Poller& poll) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
    const double p = m[pivot * n + k];
    if (p == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      product = -product;
    }
    product *= p;
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / p;
      for (int64_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
      poll.did(n);
    }
  }
  return product;
}

void determinants(const Determinant&, KernelContext& c) {
  const Tensor x = in_double(c.in(0), c);
  const int64_t n = x.dim(x.rank() - 1);
  Tensor& out = c.out(0);
  std::pmr::vector<double> matrix(static_cast<size_t>(n * n), c.scratch());
  Poller poll(c);
  for (int64_t i = 0; i < out.size(); ++i) {
    poll.did(8);
    poll.copy(x.as<double>().data() + i * n * n, n * n, matrix.data());
    store_double(out, i, determinant_of(matrix.data(), n, poll));
  }
}

}  // namespace

void reference_determinant(KernelCatalog& k) { k.reference<Determinant>("Det", determinants); }

}  // namespace lathe
