// Rows of samples that lie between two elements: what linear Resize does along the last axis.
#pragma once

#include "cpu/isa.h"

namespace lathe::cpu {

/// Where n samples come from: a[i] of element left[i] and b[i] of element right[i].
struct RowSamples {
  const int32_t *left = nullptr, *right = nullptr;
  const float *a = nullptr, *b = nullptr;
  int64_t n = 0;
};
/// Floats that may be read behind a row.
inline constexpr int64_t behind_row = 32;

struct SampleKernels {
  /// to[i] = a[i] row[left[i]] + b[i] row[right[i]]; what counts for 0 may be infinite or not a number.
  void (*between)(const RowSamples&, const float* row, float* to);
  /// The same where are_near(), which takes a fraction of the time.
  void (*between_near)(const RowSamples&, const float* row, float* to);
  /// Do the elements that neighbouring samples lie between fit into two vectors?
  bool (*are_near)(const RowSamples&);
  /// to = a x + b y for n elements, of which a part that counts for 0 is not read.
  void (*blend)(const float* x, const float* y, float a, float b, float* to, int64_t n);
};
const SampleKernels& sample_kernels(Isa isa);

}  // namespace lathe::cpu
