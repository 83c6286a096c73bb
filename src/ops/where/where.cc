#include "ops/where/where.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// The shape of the output, as a list: constant, or that of a sum.
ValueId common_shape(DecomposeContext& c) {
  const auto& shape = c.type(c.node().outputs[0]).shape;
  if (!shape) unsupported("inputs of known rank", c.type(input(c, 0)).str());
  std::vector<int64_t> sizes;
  for (const Dim& d : *shape)
    if (const auto n = known(d)) sizes.push_back(*n);
  if (sizes.size() == shape->size()) return ints(c, sizes);
  if (!is_float(elem_of(c, input(c, 1))))
    unsupported("an output of known shape", c.type(c.node().outputs[0]).str());
  const ValueId both = one(c, "Add", {input(c, 1), input(c, 2)});
  return one(c, "Shape", {one(c, "Add", {both, cast(c, input(c, 0), elem_of(c, both))})});
}

/// Elements of both, one after the other, by their numbers: whatever the other one is, a number or none, does
/// not get in the way. Integers can be added.
std::vector<ValueId> where(DecomposeContext& c) {
  if (c.opset() >= 9) return in_wider_types(c);
  const ValueId condition = input(c, 0);
  const DataType type = elem_of(c, input(c, 1));
  if (is_integer(type) || type == DataType::boolean) {
    const ValueId x = cast(c, input(c, 1), DataType::int64), y = cast(c, input(c, 2), DataType::int64);
    const ValueId change = one(c, "Mul", {one(c, "Sub", {x, y}), cast(c, condition, DataType::int64)});
    return {cast(c, one(c, "Add", {y, change}), type)};
  }
  const ValueId shape = common_shape(c);
  const ValueId x = one(c, "Expand", {input(c, 1), shape}), y = one(c, "Expand", {input(c, 2), shape});
  const ValueId all = one(c, "Expand", {cast(c, condition, DataType::int64), shape});
  const ValueId both = concat(c, {reshaped(c, y, {-1}), reshaped(c, x, {-1})}, 0);
  const ValueId chosen = one(c, "Mul", {all, scalar_of(c, size_of_axes(c, x, 0, rank_of(c, x)))});
  const ValueId at = one(c, "Add", {element_numbers(c, x, x, -1, no_id), chosen});
  return {gathered(c, both, at, 0)};
}

}  // namespace
}  // namespace decomposition

void declare_where(SchemaCatalog& c) {
  c.add("Where")
      .version(9, "(condition: B, X: T, Y: T) -> (output: T) [B: bool; T: @all]")
      .version(16, "(condition: B, X: T, Y: T) -> (output: T) [B: bool; T: @all_13]")
      .rule<Where>()
      .decompose(decomposition::where)
      .tolerance({.exact = true});
}

}  // namespace lathe
