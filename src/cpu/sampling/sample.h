// Rows of samples between elements, for Resize along the last axis.
#pragma once

#include "cpu/simd/isa.h"

namespace lathe::cpu {

/// n samples: a[i] times element left[i] plus b[i] times element right[i].
struct RowSamples {
  const int32_t *left = nullptr, *right = nullptr;
  const float *a = nullptr, *b = nullptr;
  int64_t n = 0;
};
/// n samples of `taps` elements each: sample i is the sum over k of weight[k stride + i] times element at[k
/// stride + i].
struct RowTaps {
  const int32_t* at = nullptr;
  const float* weight = nullptr;
  int64_t taps = 0, stride = 0, n = 0;
};
/// A row of elements, and its weight.
struct WeightedRow {
  const float* data;
  float weight;
};
/// Floats that may be read behind a row.
inline constexpr int64_t behind_row = 32;

struct SampleKernels {
  /// to[i] = a[i] row[left[i]] + b[i] row[right[i]]; elements of weight 0 may be infinite or NaN.
  void (*between)(const RowSamples&, const float* row, float* to);
  /// The same if are_near(), which takes a fraction of the time.
  void (*between_near)(const RowSamples&, const float* row, float* to);
  /// The weighted sum of each sample's elements; elements of weight 0 may be infinite or NaN.
  void (*weigh)(const RowTaps&, const float* row, float* to);
  /// The same if the elements of each tap are_near().
  void (*weigh_near)(const RowTaps&, const float* row, float* to);
  /// Returns whether the elements of each vector of samples fit into two vectors, for `left` and for `right`.
  bool (*are_near)(const RowSamples&);
  /// The sum of `count` rows of n elements times their weights, plus what `to` has if `adds`.
  void (*blend)(const WeightedRow* rows, size_t count, bool adds, float* to, int64_t n);
};
const SampleKernels& sample_kernels(Isa isa);

}  // namespace lathe::cpu
