#include "ops/gather/gather.h"

#include <algorithm>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Indices were counted from the front too.
bool gather_1_from_11(RewriteContext& c) {
  if (c.is_from_front(c.node().inputs[1])) return axes_from_front(c);
  const auto indices = constant_ints(c, 1);
  if (!indices || std::ranges::any_of(*indices, [](int64_t i) { return i < 0; }))
    return c.cannot("in older ones indices are counted from the front, and these may be negative",
                    "make 'indices' a constant of numbers from 0 on");
  return axes_from_front(c);
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

std::vector<ValueId> gather(DecomposeContext& c) {
  const ValueId x = input(c, 0), indices = input(c, 1);
  if (c.opset() >= 11 || c.is_from_front(indices)) unsupported({}, {});
  const int64_t axis = from_front(c, x, c.node().attributes.get<int64_t>("axis", 0));
  const ValueId front = counted_from_front(c, indices, x, axis);
  if (front == indices) unsupported({}, {});
  return {one(c, "Gather", {x, front}, with("axis", axis))};
}

/// Elements of a list of them all, by their numbers in it.
std::vector<ValueId> gather_elements(DecomposeContext& c) {
  if (c.opset() >= 11) unsupported({}, {});
  const ValueId x = input(c, 0), indices = input(c, 1);
  const int64_t axis = from_front(c, x, c.node().attributes.get<int64_t>("axis", 0));
  const ValueId at = element_numbers(c, x, indices, axis, counted_from_front(c, indices, x, axis));
  return {gathered(c, reshaped(c, x, {-1}), at, 0)};
}

/// The axes that a tuple of indices is of become one.
std::vector<ValueId> gather_nd(DecomposeContext& c) {
  if (c.opset() >= 12 || (c.opset() == 11 && c.node().attributes.get<int64_t>("batch_dims", 0) == 0))
    unsupported({}, {});
  const ValueId x = input(c, 0), indices = input(c, 1);
  const auto batch = c.node().attributes.get<int64_t>("batch_dims", 0);
  const auto tuple = known(size_of(c, indices, -1));
  if (!tuple) unsupported("indices whose last size is known", c.type(indices).str());
  const int64_t rank = rank_of(c, indices), named = batch + *tuple;
  ValueId at = tuples_as_numbers(c, x, indices, batch);
  for (int64_t a = 0; a < batch; ++a) {
    std::vector<int64_t> along(static_cast<size_t>(rank - 1), 1);
    along[static_cast<size_t>(a)] = -1;
    const ValueId step = strides_of_first(c, x, a, named);
    at = one(c, "Add", {at, one(c, "Mul", {reshaped(c, indices_along(c, indices, a), along), step})});
  }
  return {gathered(c, first_axes_as_one(c, x, named), at, 0)};
}

}  // namespace
}  // namespace decomposition

void declare_gather(SchemaCatalog& c) {
  c.add("Gather")
      .version(1, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(11, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]", nullptr,
               gather_1_from_11)
      .version(13, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .rule<Gather>()
      .decompose(decomposition::gather)
      .tolerance({.exact = true});
  c.add("GatherElements")
      .version(11, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(13, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .rule<GatherElements>()
      .decompose(decomposition::gather_elements)
      .tolerance({.exact = true});
  c.add("GatherND")
      .version(11, "(data: T, indices: int64) -> (output: T) [T: @all]")
      .version(12, "(data: T, indices: int64) -> (output: T) {batch_dims: int = 0} [T: @all]")
      .version(13, "(data: T, indices: int64) -> (output: T) {batch_dims: int = 0} [T: @all_13]")
      .rule<GatherND>()
      .decompose(decomposition::gather_nd)
      .tolerance({.exact = true});
}

}  // namespace lathe
