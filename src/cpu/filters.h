// Packing the filters of convolutions in channel blocks: weights lie filter by filter, kernels want the same
// weight of 16 filters side by side.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

struct FilterKernels {
  /// Turns `n` weights of each of `filters` <= 16 filters, `row` apart: to[i * 16 + filter] = from[filter *
  /// row
  /// + i], and 0 for the filters that are missing. `from` may lie at any address.
  void (*turn)(const float* from, int64_t row, int64_t filters, int64_t n, float* to);
  /// Multiplies the rows of a panel, `filters` weights each, with a gate each. `to` may be `weights`.
  void (*gate)(const float* weights, const float* gates, int64_t rows, int64_t filters, float* to);
  /// Evaluates the weights of 16 filters, turned, at the points of each of `filterings`: point p of filter i
  /// comes to points[p * point + i]. Calculates in double.
  void (*winograd[3])(const float* weights, float* points, int64_t point);
  /// The same in float32, while a convolution runs.
  void (*winograd_quickly[3])(const float* weights, float* points, int64_t point);
};
const FilterKernels& filter_kernels(Isa isa);

}  // namespace lathe::cpu
