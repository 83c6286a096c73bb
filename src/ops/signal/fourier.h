// The discrete Fourier transform of one line of any length: split by the prime factors of its length (Cooley
// and Tukey 1965), so that it takes n times the sum of the factors.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "ops/poller.h"

namespace lathe {

class Fourier {
 public:
  using Number = std::complex<double>;

  /// `backwards`: the inverse, not yet divided by n.
  Fourier(int64_t n, bool backwards, KernelContext& c)
      : n_(n),
        roots_(static_cast<size_t>(n), c.scratch()),
        parts_(static_cast<size_t>(n), c.scratch()),
        poll_(c) {
    for (int64_t k = 0; k < n; ++k) {
      poll_.did(16);
      const double angle = 2 * 3.141592653589793 * static_cast<double>(k) / static_cast<double>(n);
      roots_[static_cast<size_t>(k)] = {std::cos(angle), backwards ? std::sin(angle) : -std::sin(angle)};
    }
  }
  /// `line` and `spectrum` hold n numbers each.
  void transform(const Number* line, Number* spectrum) { part(line, 1, n_, spectrum, parts_.data()); }

 private:
  /// Every `step`-th of `from`, `n` of them; `scratch` has room for n.
  void part(const Number* from, int64_t step, int64_t n, Number* to, Number* scratch) {
    if (n == 1) {
      *to = *from;
      return;
    }
    int64_t factor = 2;
    while (n % factor != 0) factor = factor * factor > n ? n : factor + 1;
    const int64_t m = n / factor;
    for (int64_t r = 0; r < factor; ++r) part(from + r * step, step * factor, m, scratch + r * m, to + r * m);
    for (int64_t k = 0; k < n; ++k) {
      Number sum = 0;
      poll_.did(2 * factor);
      for (int64_t r = 0; r < factor; ++r)
        sum += roots_[static_cast<size_t>(r * k % n * step)] * scratch[r * m + k % m];
      to[k] = sum;
    }
  }
  int64_t n_;
  std::pmr::vector<Number> roots_, parts_;
  Poller poll_;
};

}  // namespace lathe
