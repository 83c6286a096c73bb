// Scales and zero points of a run, in the form that integer kernels read.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "cpu/support.h"
#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe {

/// The index of an input that an operator does not have.
inline constexpr size_t none = SIZE_MAX;

using cpu::is_eight_bits;

/// Returns whether the input is absent or known to be one number.
inline bool is_single(const KernelQuery& r, size_t i) {
  if (!cpu::has_input(r, i)) return true;
  const auto& shape = r.inputs[i].shape;
  return shape && std::ranges::all_of(*shape, [](const Dim& d) { return d == Dim(1); });
}
inline bool is_for_columns(const KernelQuery& r, size_t i, int64_t n) {
  if (is_single(r, i)) return true;
  const auto& shape = r.inputs[i].shape;
  return shape && shape->size() == 1 && (*shape)[0] == Dim(n);
}

/// Throws unless the scales are finite and, if they divide, other than 0.
inline void check_scale(KernelContext& c, size_t input, bool divides) {
  for (const float s : c.in(input).as<float>())
    if (!std::isfinite(s) || (divides && s == 0))
      c.fail(Code::run_bad_value, divides ? "a finite scale other than 0" : "a finite scale",
             std::to_string(s) + " at input " + std::to_string(input));
}

inline const Tensor* optional_input(KernelContext& c, size_t i) {
  return i != none && cpu::has_input(c, i) ? &c.in(i) : nullptr;
}
inline int32_t zero_of(const Tensor* t, int64_t i) {
  return t ? static_cast<int32_t>(load_int(*t, t->size() == 1 ? 0 : i)) : 0;
}

/// The zero points of B's columns, from the one numbered `first` on, as they are multiplied; null if all are
/// 0.
inline const int32_t* column_zeros(const Tensor* zero, DataType b, int64_t first, int64_t n, int64_t columns,
                                   int32_t* to) {
  const int32_t middle = b == DataType::uint8 ? 128 : 0;
  bool centered = true;
  for (int64_t i = 0; i < (zero ? zero->size() : 1); ++i) centered = centered && zero_of(zero, i) == middle;
  if (centered) return nullptr;
  for (int64_t j = 0; j < columns; ++j) to[j] = j < n ? zero_of(zero, first + j) - middle : 0;
  return to;
}

/// The factors of each column's sums, computed in one order so that ties fall the same way everywhere.
inline const float* column_scales(float a, std::span<const float> b, float divisor, int64_t n,
                                  int64_t columns, float* to) {
  for (int64_t j = 0; j < columns; ++j)
    to[j] = j < n ? a * b[b.size() == 1 ? 0 : static_cast<size_t>(j)] / divisor : 0;
  return to;
}

}  // namespace lathe
