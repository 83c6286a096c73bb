#include "ops/reverse_sequence/reverse_sequence.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Both axes as one, whose elements are named one by one: step t of a sequence is its step t, or, among its
/// first, the one as far from their end.
std::vector<ValueId> reverse_sequence(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  if (c.opset() >= 10 || elem_of(c, x) == DataType::bfloat16) return in_wider_types(c);
  const auto op = decode<ReverseSequence>(c.node().attributes);
  const auto along = [&](ValueId v, int64_t axis) {
    return axis == 0 ? reshaped(c, v, {-1, 1}) : reshaped(c, v, {1, -1});
  };
  const ValueId step = along(indices_along(c, x, op.time_axis), op.time_axis);
  const ValueId sequence = along(indices_along(c, x, op.batch_axis), op.batch_axis);
  const ValueId count = along(input(c, 1), op.batch_axis);
  const ValueId turns = is_negative(c, one(c, "Sub", {step, count}));
  const ValueId other = one(c, "Sub", {plus(c, count, -1), times(c, step, 2)});
  const ValueId from = one(c, "Add", {step, one(c, "Mul", {turns, other})});
  const ValueId far = strides_of_first(c, x, 0, 2);
  const ValueId at = op.time_axis == 0 ? one(c, "Add", {one(c, "Mul", {from, far}), sequence})
                                       : one(c, "Add", {one(c, "Mul", {sequence, far}), from});
  return {gathered(c, first_axes_as_one(c, x, 2), at, 0)};
}

}  // namespace
}  // namespace decomposition

void declare_reverse_sequence(SchemaCatalog& c) {
  c.add("ReverseSequence")
      .version(
          10,
          "(input: T, sequence_lens: int64) -> (Y: T) {batch_axis: int = 1, time_axis: int = 0} [T: @all]")
      .version(
          28,
          "(input: T, sequence_lens: int64) -> (Y: T) {batch_axis: int = 1, time_axis: int = 0} [T: @all_13]")
      .rule<ReverseSequence>()
      .decompose(decomposition::reverse_sequence)
      .tolerance({.exact = true});
}

}  // namespace lathe
