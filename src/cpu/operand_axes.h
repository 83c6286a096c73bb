// How the operands of a pointwise program go through the elements of its result, each broadcast to its shape.
#pragma once

#include <array>
#include <span>

#include "kernel/kernel.h"

namespace lathe::cpu {

/// From the last axis to the first, axes that all operands go through alike being one. What lies beyond
/// `count` and the operands is never read, nor cleared: small steps would spend their time on that.
struct OperandAxes {
  /// That are repeated in different ways.
  static constexpr size_t most = 8;
  /// Rows up to this length that an operand repeats are spread out to whole blocks first.
  static constexpr int64_t short_row = 64;

  /// Throws run_bad_shape where an operand cannot be broadcast to the shape, not_supported where there would
  /// be too many axes.
  OperandAxes(std::span<const Tensor* const> operands, const Shape& shape);
  /// Makes one of the last two axes where operands go on through both, stand still in both, or repeat the
  /// same short row. Were they joined?
  bool join_short_rows();
  /// From an operand's first element to that of a row along the last axis.
  int64_t offset(size_t operand, int64_t row) const;
  /// Where an element of the result is, and how far it is there from an operand's first element to that of
  /// its row.
  struct Position {
    std::array<int64_t, most> index;
    int64_t within() const { return index[0]; }
  };
  Position position(int64_t element) const;
  int64_t offset(size_t operand, const Position& p) const;
  /// Does an operand lie as the result does?
  bool is_dense(size_t operand) const;

  size_t count = 0;
  std::array<int64_t, most> sizes;
  std::array<std::array<int64_t, most>, Pointwise::most_operands> steps;
  std::array<bool, Pointwise::most_operands> repeats{};  // the same short row all along the last axis
  int64_t repeated_row = 0;                              // its length

 private:
  size_t operands_;
};

}  // namespace lathe::cpu
