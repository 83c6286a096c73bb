// Work along one axis for float32: softmax, normalisation, sums and extremes. A tensor is seen as [outer, n,
// inner] and the axis of n is worked along: with inner = 1 as rows, otherwise as columns, a vector of which
// is done at a time.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

enum class ReduceOp : uint8_t { sum, sum_of_squares, sum_of_absolutes, maximum, minimum, count };

/// What the elements of a row have in common.
struct RowStatistics {
  float mean, inverse;  // 1 / deviation
};

/// y = (x - mean) * inverse * scale + bias along a row, or a part of one.
struct Normalization {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t n = 0;
  const float* scale = nullptr;  // n elements (single: one); null: 1
  const float* bias = nullptr;   // the same; null: 0
  bool single = false;           // one scale and bias for all
};

/// Some of the rows that come to one: neighbouring columns, with what came of the rows before them.
struct Columns {
  const float* x = nullptr;
  int64_t n = 0, stride = 0, width = 0;  // rows, from one to the next, columns
  float* y = nullptr;                    // the results so far
  float* lost = nullptr;                 // what rounding took from them
  bool begins = true, ends = true;       // are there no rows before these, none after?
  float factor = 1;                      // of the result
  const float* tops = nullptr;           // of each column, for exponentials
};

/// Elements of rows that softmax takes at once: they, their weights and what comes of them stay in the
/// first-level cache.
inline constexpr int64_t softmax_floats = 2048;

struct RowKernels {
  /// So many rows of n elements, at most as many as a vector has lanes, one behind the other. How many go
  /// together changes no bit.
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t n, bool logarithm) = nullptr;
  /// `width` neighbouring columns, at most one vector; consecutive elements of a column are `stride` apart.
  void (*softmax_columns)(const float* x, float* y, int64_t n, int64_t stride, int64_t width,
                          bool logarithm) = nullptr;
  void (*normalize)(const Normalization&, const RowStatistics&) = nullptr;
  /// Not centred, rows have a mean of 0.
  RowStatistics (*statistics)(const float* x, int64_t n, bool center, float epsilon) = nullptr;
  /// Both, of a whole row.
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

/// Softmax and normalize() write the output, which they finish.
void softmax(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, bool logarithm,
             KernelContext& c);

/// y[outer, inner] = op over n, times `factor`. Of no elements: 0, or the infinity that is neutral. `e`: the
/// epilogue, where y is the output; or null.
void reduce(Isa isa, ReduceOp op, const float* x, float* y, int64_t outer, int64_t n, int64_t inner,
            float factor, Epilogue* e, KernelContext& c);

/// y[outer, inner] = log Σ exp(x) over n, which no great x overflows. Of no elements: minus infinity.
void log_sum_exp(Isa isa, const float* x, float* y, int64_t outer, int64_t n, int64_t inner, Epilogue* e,
                 KernelContext& c);

/// Normalises `rows` rows of n.
struct RowNormalization {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t rows = 0, n = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;
  int64_t channels = 0;    // of which the rows are made in turn, with a scale and a bias each; 0: these run
                           // along the row
  int64_t of_channel = 0;  // its elements, several of which make a row
  bool center = true;
  float epsilon = 0;
  float* mean = nullptr;  // one per row
  float* inverse = nullptr;

  /// n elements from one on, which take scale and bias from `own` on.
  Normalization part(int64_t at, int64_t elements, int64_t own) const {
    return {x + at,      y + at, elements, scale ? scale + own : nullptr, bias ? bias + own : nullptr,
            channels > 0};
  }
};
void normalize(Isa isa, const RowNormalization& r, KernelContext& c);

}  // namespace lathe::cpu
