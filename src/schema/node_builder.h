// Functions for making nodes that take another node's place, whole or in part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/schema.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe::node_builder {

// ── The node's inputs and outputs

inline bool has(RewriteContext& c, size_t input) {
  return input < c.node().inputs.size() && c.node().inputs[input] != no_id;
}
inline ValueId input(RewriteContext& c, size_t i) { return has(c, i) ? c.node().inputs[i] : no_id; }
inline bool wants(RewriteContext& c, size_t output) {
  return output < c.node().outputs.size() && c.node().outputs[output] != no_id;
}

/// A size of a value, counted from the end where `axis` is negative; unknown where the rank is.
inline Dim size_of(const RewriteContext& c, ValueId v, int64_t axis) {
  const auto& shape = c.type(v).shape;
  if (!shape) return Dim::unknown();
  const int64_t rank = static_cast<int64_t>(shape->size()), at = axis < 0 ? axis + rank : axis;
  return at < 0 || at >= rank ? Dim::unknown() : (*shape)[static_cast<size_t>(at)];
}

// ── What a decomposition needs to know

/// Throws node_cannot_convert: older opsets have words for `expected` alone; of nothing: none at all.
[[noreturn]] void unsupported(std::string expected, std::string got);

/// Throws where it is unknown.
DataType elem_of(const RewriteContext& c, ValueId v);
/// Throws where it is unknown.
int64_t rank_of(const RewriteContext& c, ValueId v);
/// An axis counted from the front. Throws where it is negative and the rank unknown.
int64_t from_front(const RewriteContext& c, ValueId v, int64_t axis);

/// float32 for floats of 16 bits, which are computed in it.
inline DataType computed_in(DataType t) {
  return t == DataType::float16 || t == DataType::bfloat16 ? DataType::float32 : t;
}

// ── Constants

/// Zeros, falsehoods or empty texts.
Tensor zeros(DataType type, Shape shape);
/// One number of that type.
ValueId number(InsertContext& c, double v, DataType type);
inline ValueId ints(InsertContext& c, const std::vector<int64_t>& v) {
  return c.add_constant(int64_vector(v), "numbers");
}
inline ValueId int_scalar(InsertContext& c, int64_t v) {
  return c.add_constant(Tensor::scalar<int64_t>(v), "number");
}

// ── Other nodes

inline ValueId one(InsertContext& c, std::string_view op, std::vector<ValueId> inputs, Attributes a = {}) {
  return c.insert(op, std::move(inputs), std::move(a))[0];
}

inline ValueId cast(InsertContext& c, ValueId v, DataType type) {
  return c.type(v).elem == type ? v : one(c, "Cast", {v}, with("to", static_cast<int64_t>(type)));
}

inline ValueId transposed(InsertContext& c, ValueId v, std::vector<int64_t> perm) {
  return one(c, "Transpose", {v}, with("perm", std::move(perm)));
}

/// Reshapes to known sizes; 0 keeps a size.
inline ValueId reshaped(InsertContext& c, ValueId v, const std::vector<int64_t>& shape) {
  return one(c, "Reshape", {v, ints(c, shape)});
}

/// Returns `v` as a tensor without axes.
inline ValueId as_scalar(InsertContext& c, ValueId v) {
  const auto& shape = c.type(v).shape;
  return shape && shape->empty() ? v : one(c, "Reshape", {v, ints(c, {})});
}

/// Reshapes to computed sizes, in which 0 is a size of 0.
inline ValueId reshaped_to(InsertContext& c, ValueId v, ValueId sizes) {
  return one(c, "Reshape", {v, sizes}, with("allowzero", int64_t{1}));
}

inline ValueId unsqueezed(InsertContext& c, ValueId v, const std::vector<int64_t>& axes) {
  return one(c, "Unsqueeze", {v, ints(c, axes)});
}

inline ValueId concat(InsertContext& c, std::vector<ValueId> parts, int64_t axis) {
  return one(c, "Concat", std::move(parts), with("axis", axis));
}

/// The size of an axis, as a list of one.
inline ValueId length(InsertContext& c, ValueId v, int64_t axis) {
  Attributes range = with("start", axis);
  if (axis != -1) range.set("end", axis + 1);
  return one(c, "Shape", {v}, std::move(range));
}

inline ValueId times(InsertContext& c, ValueId a, double b) {
  return one(c, "Mul", {a, number(c, b, elem_of(c, a))});
}
inline ValueId plus(InsertContext& c, ValueId a, double b) {
  return one(c, "Add", {a, number(c, b, elem_of(c, a))});
}

/// An input in the type that it is computed in.
inline ValueId widened(InsertContext& c, ValueId v) { return cast(c, v, computed_in(elem_of(c, v))); }

/// A list of one as a scalar.
inline ValueId scalar_of(InsertContext& c, ValueId v) { return one(c, "Squeeze", {v, ints(c, {0})}); }

inline ValueId reduced(InsertContext& c, std::string_view op, ValueId v, const std::vector<int64_t>& axes,
                       bool keepdims = true) {
  return one(c, op, {v, ints(c, axes)}, with("keepdims", int64_t{keepdims}));
}

/// 1 / sqrt of the size of the last axis, of the value's type.
ValueId inverse_root_of_size(InsertContext& c, ValueId v);

/// 0, 1, … below a count that is a list of one.
inline ValueId count_up(InsertContext& c, ValueId count) {
  return one(c, "Range", {int_scalar(c, 0), one(c, "Squeeze", {count}), int_scalar(c, 1)});
}

/// Elements [from, to) along an axis; the bounds are lists of one.
inline ValueId sliced(InsertContext& c, ValueId v, ValueId from, ValueId to, int64_t axis) {
  return one(c, "Slice", {v, from, to, ints(c, {axis})});
}

// ── Indices

/// The numbers 0, 1, … below the size of an axis.
ValueId indices_along(InsertContext& c, ValueId v, int64_t axis);

/// The stride of an axis, in elements, in a row-major tensor.
ValueId stride(InsertContext& c, ValueId v, int64_t axis);

/// 1 if an integer is below 0, else 0, in its own type. Older opsets compare only floats, in which all
/// integers keep their signs.
ValueId is_negative(InsertContext& c, ValueId v);

/// The maximum of integers and 0, and the minimum of integers.
inline ValueId at_least_0(InsertContext& c, ValueId v) {
  const DataType type = elem_of(c, v);
  return one(c, "Mul", {v, one(c, "Sub", {number(c, 1, type), is_negative(c, v)})});
}
inline ValueId at_most(InsertContext& c, ValueId v, ValueId most) {
  const ValueId less = one(c, "Sub", {v, most});
  return one(c, "Add", {most, one(c, "Mul", {less, is_negative(c, less)})});
}

/// Indices of an axis of `v` that may be negative, counted from the front.
ValueId counted_from_front(DecomposeContext& c, ValueId indices, ValueId v, int64_t axis);

/// The row-major numbers of elements in a tensor of the shape of `v`, for the positions of a tensor of the
/// shape of `shape_of`; along `axis` they are at the positions `at`.
ValueId element_numbers(InsertContext& c, ValueId v, ValueId shape_of, int64_t axis, ValueId at);

/// Converts tuples of indices, along the last axis, into axes of `v` from `first` on to single indices into
/// those axes merged into one.
ValueId tuples_as_numbers(DecomposeContext& c, ValueId v, ValueId indices, int64_t first);
/// The product of the sizes of the axes in [from, to), as a list of one.
ValueId size_of_axes(InsertContext& c, ValueId v, int64_t from, int64_t to);
/// Such lists joined into one.
ValueId sizes_of(InsertContext& c, std::vector<ValueId> sizes);
/// The stride of an axis when only the first `count` axes are counted.
ValueId strides_of_first(InsertContext& c, ValueId v, int64_t axis, int64_t count);
/// The first `count` axes as one.
ValueId first_axes_as_one(InsertContext& c, ValueId v, int64_t count);

/// Elements of `v` at these places along an axis, which are not negative.
ValueId gathered(DecomposeContext& c, ValueId v, ValueId at, int64_t axis);
inline ValueId gathered(DecomposeContext& c, ValueId v, const std::vector<int64_t>& at, int64_t axis) {
  return gathered(c, v, ints(c, at), axis);
}

// ── Axes that a run computes

/// [axes, rank]: 1 if the axis in that row is the axis of that column, counted from either end, else 0.
ValueId axis_hits(InsertContext& c, ValueId axes, int64_t rank);
/// [rank]: 1 for each axis that is among `axes`, else 0.
ValueId axis_flags(InsertContext& c, ValueId axes, int64_t rank);
/// Returns the sizes whose flag is 0; `left` is their number.
ValueId sizes_left(DecomposeContext& c, ValueId sizes, ValueId flags, int64_t rank,
                   std::optional<int64_t> left);
/// Reshapes to sizes of which none is 0 unless one of those of `whole` is.
ValueId reshaped_surely(InsertContext& c, ValueId v, ValueId sizes, ValueId whole);

/// Returns what `make` computes for `axis`, a tensor of one number, with a branch for each axis before `end`.
/// `make` gets the operands as values of the branch.
using AtAxis = ValueId (*)(DecomposeContext& c, std::span<const ValueId> operands, int64_t axis);
ValueId for_computed_axis(DecomposeContext& c, ValueId axis, int64_t end, std::vector<ValueId> operands,
                          AtAxis make);

// ── Whole decompositions

/// The same operator on wider types: small integers as int32 or int64, floats of 16 bits as float32. Its
/// outputs are of the types they were.
std::vector<ValueId> in_wider_types(DecomposeContext& c);

}  // namespace lathe::node_builder
