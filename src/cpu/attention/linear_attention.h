// The steps of LinearAttention and CausalConvWithState for float32. Columns of a head's state are independent
// of each other: some of them go through all steps while they are in the first-level cache.
#pragma once

#include "cpu/simd/isa.h"

namespace lathe::cpu {

/// The columns of the state that are computed together.
inline constexpr int64_t linear_columns = 64;

/// One step of some columns of a head: decay, correct, write, read.
struct LinearStep {
  int64_t d_k = 0, d_v = 0, queries = 0;
  int64_t columns = 0;           // at most linear_columns
  const float* query = nullptr;  // [queries, d_k]
  const float* key = nullptr;    // [d_k]
  const float* value = nullptr;  // [columns]
  const float* decay = nullptr;  // logarithms: one, or of each row of the state; null: none
  bool each = false;
  const float* beta = nullptr;  // null: no correction
  float scale = 1;
  float* factors = nullptr;  // a buffer for the decay factors: [d_k]
  float* state = nullptr;    // [d_k, linear_columns]
  float* out = nullptr;      // [queries, columns], d_v from one to the next
};
struct LinearKernels {
  void (*step)(const LinearStep&) = nullptr;
  /// to[t] = bias + sum of filter[i] x[t + i].
  void (*filter)(const float* x, const float* filter, int64_t k, float bias, float* to, int64_t n) = nullptr;
};
const LinearKernels& linear_kernels(Isa isa);

}  // namespace lathe::cpu
