// How the operands of a pointwise program, each broadcast to the shape of the result, are traversed.
#pragma once

#include <array>
#include <span>

#include "kernel/kernel.h"

namespace lathe::cpu {

/// The axes from the last to the first; axes with the same strides for all operands are merged. Entries
/// beyond `count` and the operands are neither read nor cleared, since that would dominate small steps.
struct OperandAxes {
  /// The most axes that cannot be merged.
  static constexpr size_t max_axes = 8;
  /// Rows up to this length that an operand repeats are first repeated to whole blocks.
  static constexpr int64_t short_row = 64;

  /// Throws run_bad_shape if an operand cannot be broadcast to the shape, not_supported if there would be too
  /// many axes.
  OperandAxes(std::span<const Tensor* const> operands, const Shape& shape);
  /// Merges the last two axes if each operand is contiguous through both, constant along both, or repeats the
  /// same short row. Returns whether it merged them.
  bool join_short_rows();
  /// The distance from an operand's first element to that of a row along the last axis.
  int64_t offset(size_t operand, int64_t row) const;
  /// The index of an element of the result along each axis. Its offset in an operand is that of the first
  /// element of its row.
  struct Position {
    std::array<int64_t, max_axes> index;
    int64_t within() const { return index[0]; }
  };
  Position position(int64_t element) const;
  int64_t offset(size_t operand, const Position& p) const;
  /// Returns whether an operand has the same layout as the result.
  bool is_dense(size_t operand) const;

  size_t count = 0;
  std::array<int64_t, max_axes> sizes;
  std::array<std::array<int64_t, max_axes>, Pointwise::max_operands> steps;
  std::array<bool, Pointwise::max_operands> repeats{};  // true if the last axis repeats the same short row
  int64_t repeated_row = 0;                             // its length

 private:
  size_t operands_;
};

}  // namespace lathe::cpu
