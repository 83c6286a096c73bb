// Packs the filters of convolutions in channel blocks: weights are stored filter by filter, but kernels read
// the same weight of 16 filters side by side.
#pragma once

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

struct FilterKernels {
  /// Transposes `n` weights of each of `filters` <= 16 filters, `row` apart: to[i * 16 + filter] =
  /// from[filter * row + i], and 0 for missing filters. `from` may be at any address.
  void (*transpose)(const float* from, int64_t row, int64_t filters, int64_t n, float* to);
  /// Multiplies the rows of a panel, `filters` weights each, with one gate each. `to` may be `weights`.
  void (*gate)(const float* weights, const float* gates, int64_t rows, int64_t filters, float* to);
  /// Evaluates the transposed weights of 16 filters at the points of each of `filterings`: point p of filter
  /// i is written to points[p * point + i]. Computes in double.
  void (*winograd[3])(const float* weights, float* points, int64_t point);
  /// The same in float32, while a convolution runs.
  void (*winograd_quickly[3])(const float* weights, float* points, int64_t point);
};
const FilterKernels& filter_kernels(Isa isa);

}  // namespace lathe::cpu
