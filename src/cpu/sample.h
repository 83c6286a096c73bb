// Rows of samples that lie between elements: what Resize does along the last axis.
#pragma once

#include "cpu/isa.h"

namespace lathe::cpu {

/// Where n samples come from: a[i] of element left[i] and b[i] of element right[i].
struct RowSamples {
  const int32_t *left = nullptr, *right = nullptr;
  const float *a = nullptr, *b = nullptr;
  int64_t n = 0;
};
/// Where n samples come from: each of so many elements, of which sample i is weight[k stride + i] times the
/// one at[k stride + i], for all k.
struct RowTaps {
  const int32_t* at = nullptr;
  const float* weight = nullptr;
  int64_t taps = 0, stride = 0, n = 0;
};
/// A row of elements, and how much it counts.
struct WeightedRow {
  const float* data;
  float weight;
};
/// Floats that may be read behind a row.
inline constexpr int64_t behind_row = 32;

struct SampleKernels {
  /// to[i] = a[i] row[left[i]] + b[i] row[right[i]]; what counts for 0 may be infinite or not a number.
  void (*between)(const RowSamples&, const float* row, float* to);
  /// The same where are_near(), which takes a fraction of the time.
  void (*between_near)(const RowSamples&, const float* row, float* to);
  /// The sum of each sample's elements; those that count for 0 may be anything, as above.
  void (*weigh)(const RowTaps&, const float* row, float* to);
  /// The same where each tap's elements are_near().
  void (*weigh_near)(const RowTaps&, const float* row, float* to);
  /// Do the elements that neighbouring samples lie between fit into two vectors?
  bool (*are_near)(const RowSamples&);
  /// The sum of so many rows of n elements, or of these and what is there already.
  void (*blend)(const WeightedRow* rows, size_t count, bool adds, float* to, int64_t n);
};
const SampleKernels& sample_kernels(Isa isa);

}  // namespace lathe::cpu
