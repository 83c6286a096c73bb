#include "cpu/elementwise/operand_axes.h"

namespace lathe::cpu {

OperandAxes::OperandAxes(std::span<const Tensor* const> operands, const Shape& shape)
    : operands_(operands.size()) {
  std::array<int64_t, Pointwise::max_operands> stride;
  stride.fill(1);
  const auto refuse = [](const Shape& got, const Shape& wanted) {
    throw Error(lathe::Code::run_bad_shape, "run", "an operand that broadcasts to " + describe(wanted),
                describe(got));
  };
  for (const Tensor* operand : operands)
    if (operand->rank() > shape.size()) refuse(operand->shape(), shape);
  for (size_t i = 1; i <= shape.size(); ++i) {
    const int64_t size = shape[shape.size() - i];
    std::array<int64_t, Pointwise::max_operands> step{};
    for (size_t o = 0; o < operands.size(); ++o) {
      const Shape& s = operands[o]->shape();
      const int64_t own = i <= s.size() ? s[s.size() - i] : 1;
      if (own != size && own != 1) refuse(s, shape);
      step[o] = own == 1 ? 0 : stride[o];
      stride[o] *= own;
    }
    if (size == 1) continue;
    bool joins = count > 0;
    for (size_t o = 0; joins && o < operands.size(); ++o) {
      const int64_t behind = steps[o][count - 1];
      joins = step[o] == behind * sizes[count - 1] && (step[o] == 0) == (behind == 0);
    }
    if (joins) {
      sizes[count - 1] *= size;
      continue;
    }
    if (count == max_axes)
      throw Error(lathe::Code::not_supported, "run", "at most 8 axes that are repeated in different ways",
                  describe(shape));
    sizes[count] = size;
    for (size_t o = 0; o < operands.size(); ++o) steps[o][count] = step[o];
    ++count;
  }
  if (count == 0) {
    count = 1;
    sizes[0] = 1;
    for (size_t o = 0; o < operands.size(); ++o) steps[o][0] = 0;
  }
}

/// Blocked channels make rows of 16 elements, and operands with an element for each channel repeat theirs for
/// every pixel: row by row, calls would take longer than arithmetic. Such an operand is repeated in a buffer,
/// and then used like all others.
bool OperandAxes::join_short_rows() {
  if (count < 2 || sizes[0] > short_row) return false;
  const int64_t row = sizes[0];
  std::array<bool, Pointwise::max_operands> repeated{};
  for (size_t o = 0; o < operands_; ++o) {
    const int64_t within = steps[o][0], next = steps[o][1];
    const bool goes_on = within == 1 && next == row, same_again = within == 1 && next == 0;
    if (!goes_on && !same_again && (within != 0 || next != 0)) return false;
    repeated[o] = same_again;
  }
  repeats = repeated;
  repeated_row = row;
  sizes[0] *= sizes[1];
  --count;
  for (size_t axis = 1; axis < count; ++axis) {
    sizes[axis] = sizes[axis + 1];
    for (auto& of_operand : steps) of_operand[axis] = of_operand[axis + 1];
  }
  return true;
}

int64_t OperandAxes::offset(size_t operand, int64_t row) const {
  int64_t at = 0;
  for (size_t axis = 1; axis < count; ++axis) {
    at += row % sizes[axis] * steps[operand][axis];
    row /= sizes[axis];
  }
  return at;
}

OperandAxes::Position OperandAxes::position(int64_t element) const {
  Position p;
  for (size_t axis = 0; axis + 1 < count; ++axis) {
    p.index[axis] = element % sizes[axis];
    element /= sizes[axis];
  }
  p.index[count - 1] = element;
  return p;
}

int64_t OperandAxes::offset(size_t operand, const Position& p) const {
  int64_t at = 0;
  for (size_t axis = 1; axis < count; ++axis) at += p.index[axis] * steps[operand][axis];
  return at;
}

bool OperandAxes::is_dense(size_t operand) const {
  int64_t step = 1;
  for (size_t axis = 0; axis < count; step *= sizes[axis++])
    if (steps[operand][axis] != step) return false;
  return true;
}

}  // namespace lathe::cpu
