// Long sums of float32 in double, in an order of their own that leaves no term waiting for the one before.
#pragma once

#include <array>

#include "ops/poller.h"

namespace lathe {

/// The sum of f(x), of doubles, over a run of neighbors.
template <class F>
double sum_of_run(const float* x, int64_t n, Poller& poll, F f) {
  constexpr int64_t terms = 8;  // side by side
  std::array<double, terms> part{};
  const int64_t whole = n / terms;
  poll.pieces(whole, terms, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (size_t k = 0; k < part.size(); ++k)
        part[k] += f(static_cast<double>(x[static_cast<size_t>(i * terms) + k]));
  });
  double sum = 0;
  for (int64_t i = whole * terms; i < n; ++i) sum += f(static_cast<double>(x[i]));
  for (double p : part) sum += p;
  poll.did(terms);
  return sum;
}

}  // namespace lathe
