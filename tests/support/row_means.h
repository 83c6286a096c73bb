// The means of rows that depthwise convolutions compute beside their output.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "support/blocked_shapes.h"
#include "support/worker_context.h"

namespace lathe::test {

inline size_t means_size(const cpu::BlockedShape& s) {
  return static_cast<size_t>(s.batch * s.out_blocks() * s.out[0] * cpu::channel_block);
}

/// Compares `means` with the means of the rows of y.
inline void expect_row_means(const cpu::BlockedShape& s, const float* y, const Fenced& means) {
  EXPECT_TRUE(means.intact());
  const int64_t row = s.out[1] * cpu::channel_block;
  for (size_t i = 0; i < means.size(); ++i) {
    const float* const from = y + static_cast<int64_t>(i) / cpu::channel_block * row;
    double sum = 0, most = 0;
    for (int64_t p = static_cast<int64_t>(i) % cpu::channel_block; p < row; p += cpu::channel_block)
      sum += from[p], most = std::max<double>(most, std::abs(from[p]));
    const double want = sum / static_cast<double>(s.out[1]);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(means[i])) << means[i] << " at " << i;
    else
      ASSERT_NEAR(means[i], want, 1e-6 * most) << "at " << i;
  }
}

}  // namespace lathe::test
