// Operations along one axis for float32: softmax, normalization, sums and extremes. A tensor is treated as
// [outer, n, inner], and the axis of n is processed: as rows if inner is 1, otherwise as columns, a vector of
// which is processed at a time.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

enum class ReduceOp : uint8_t { sum, sum_of_squares, sum_of_absolutes, maximum, minimum, count };

/// The statistics of a row.
struct RowStatistics {
  float mean, inverse;  // 1 / deviation
};

/// y = (x - mean) * inverse * scale + bias along a row, or a part of one.
struct Normalization {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t n = 0;
  const float* scale = nullptr;  // n elements (single: one); null: 1
  const float* bias = nullptr;   // likewise; null: 0
  bool single = false;           // one scale and bias for all
};

/// Some rows of a reduction to one row: neighboring columns, with the results of the rows before them.
struct Columns {
  const float* x = nullptr;
  int64_t n = 0, stride = 0, width = 0;  // rows, the distance between them, columns
  float* y = nullptr;                    // the results so far
  float* lost = nullptr;                 // the rounding errors of these sums
  bool begins = true, ends = true;       // true if there are no rows before these, none after
  float factor = 1;                      // multiplies the result
  const float* tops = nullptr;           // the maximum of each column, for exponentials
};

/// The elements of rows that softmax processes at once: these, their weights and the results stay in the
/// first-level cache.
inline constexpr int64_t softmax_floats = 2048;

struct RowKernels {
  /// Softmax of `rows` contiguous rows of n elements, at most as many as a vector has lanes. The number of
  /// rows does not affect the bits of the results.
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t n, bool logarithm) = nullptr;
  /// The same for `width` neighboring columns, at most one vector; consecutive elements of a column are
  /// `stride` apart.
  void (*softmax_columns)(const float* x, float* y, int64_t n, int64_t stride, int64_t width,
                          bool logarithm) = nullptr;
  void (*normalize)(const Normalization&, const RowStatistics&) = nullptr;
  /// Without `center` the mean is 0.
  RowStatistics (*statistics)(const float* x, int64_t n, bool center, float epsilon) = nullptr;
  /// Computes both for a whole row.
  RowStatistics (*normalize_row)(const Normalization&, bool center, float epsilon) = nullptr;
  /// The sum of (x - mean)^2.
  float (*squares_around)(const float* x, int64_t n, float mean) = nullptr;
  float (*reduce[static_cast<size_t>(ReduceOp::count)])(const float* x, int64_t n) = {};
  void (*reduce_columns[static_cast<size_t>(ReduceOp::count)])(const Columns&) = {};
  /// The sum of exp(x - top), and the same by column.
  float (*exponentials)(const float* x, int64_t n, float top) = nullptr;
  void (*exponentials_columns)(const Columns&) = nullptr;
  int64_t vector = 0;
};
const RowKernels& row_kernels(Isa isa);

/// softmax() and normalize() write output 0 and apply its epilogue.
void softmax(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, bool logarithm,
             KernelContext& c);

/// y[outer, inner] = op over n, times `factor`. If n is 0: 0, or the neutral infinity. `e`: the epilogue if y
/// is the output; or null.
void reduce(Isa isa, ReduceOp op, const float* x, float* y, int64_t outer, int64_t n, int64_t inner,
            float factor, Epilogue* e, KernelContext& c);

/// y[outer, inner] = log Σ exp(x) over n, which does not overflow for large x. If n is 0: minus infinity.
void log_sum_exp(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, Epilogue* e,
                 KernelContext& c);

/// Normalizes `rows` rows of n.
struct RowNormalization {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t rows = 0, n = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;
  int64_t channels = 0;    // each with one scale and bias, in turn along the rows; 0: scale and bias run
                           // along the row
  int64_t of_channel = 0;  // elements of a channel; a row has those of one channel or more
  bool center = true;
  float epsilon = 0;
  float* mean = nullptr;  // one per row
  float* inverse = nullptr;

  /// `elements` elements from index `at` on, with scale and bias from `own` on.
  Normalization part(int64_t at, int64_t elements, int64_t own) const {
    return {x + at,      y + at, elements, scale ? scale + own : nullptr, bias ? bias + own : nullptr,
            channels > 0};
  }
};
void normalize(Isa isa, const RowNormalization& r, KernelContext& c);

}  // namespace lathe::cpu
