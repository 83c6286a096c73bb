// How much arithmetic an operator does at given shapes. Written once over the dimension type, like the shape
// rules: Dim for what `inspect` says of a model, double for what a profile says of a run.
//
// Two for every term that a contraction sums, one for every element that other arithmetic makes (or a
// reduction reads), nothing for movement, comparison and logic. An operator whose terms do not show in the
// size of its outputs has a member beside its shape rule that counts them:
//
//   template <class D>
//   D operations(const OperandShapes<D>& s) const { return counting::matrix_product(s); }
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "lathe/dim.h"

namespace lathe {

/// The sizes of an operator that its arithmetic is proportional to.
enum class Arithmetic : uint8_t { none, per_output, per_input, contraction };
inline constexpr int arithmetic_kinds = 4;

/// The shapes of an operator's operands. Null: absent, no tensor, or of unknown shape.
template <class D>
struct OperandShapes {
  std::span<const std::vector<D>* const> inputs;
  std::span<const std::vector<D>* const> outputs;  // tensors that somebody wants
};

namespace counting {

/// Thrown to count_arithmetic: a shape that the count needs is not known.
struct Unknown {};

template <class D>
const std::vector<D>& at(std::span<const std::vector<D>* const> shapes, size_t i) {
  if (i >= shapes.size() || !shapes[i]) throw Unknown{};
  return *shapes[i];
}

template <class D>
D product(const std::vector<D>& shape, size_t from = 0) {
  D n = 1;
  for (size_t i = from; i < shape.size(); ++i) n = n * shape[i];
  if constexpr (std::is_same_v<D, Dim>)
    if (n.has_unknown()) throw Unknown{};
  return n;
}

template <class D>
D output_elements(const OperandShapes<D>& s) {
  D sum = 0;
  for (size_t i = 0; i < s.outputs.size(); ++i) sum = sum + product(at(s.outputs, i));
  return sum;
}

/// Every output element sums along the last axis of input 0.
template <class D>
D matrix_product(const OperandShapes<D>& s) {
  const auto& a = at(s.inputs, 0);
  if (a.empty()) throw Unknown{};
  return D(2) * output_elements(s) * a.back();
}

}  // namespace counting

/// An operator, by its attributes, that counts its own.
template <class Op, class D>
concept CountsOperations = requires(const Op& op, const OperandShapes<D>& shapes) {
  { op.operations(shapes) } -> std::same_as<D>;
};

/// Operations of one execution; nothing where a shape that the count needs is not known. `own` returns what
/// the operator counts itself: asked of a contraction.
template <class D, class Own>
std::optional<D> count_arithmetic(Arithmetic kind, const OperandShapes<D>& shapes, Own&& own) {
  try {
    switch (kind) {
      case Arithmetic::none:
        break;
      case Arithmetic::per_output:
        return counting::output_elements(shapes);
      case Arithmetic::per_input:
        return counting::product(counting::at(shapes.inputs, 0));
      case Arithmetic::contraction:
        return own();
    }
    return D(0);
  } catch (const counting::Unknown&) {
    return std::nullopt;
  }
}

}  // namespace lathe
