#include "ops/expand/expand.h"

#include <numeric>

#include "schema/node_builder.h"

namespace lathe {
namespace {

/// `count` at `axis`, 1 at the others.
ValueId computed_repeats(UpgradeContext& u, ValueId x, ValueId count, ValueId axis) {
  using namespace node_builder;
  const auto number = [&](ValueId v) { return reshaped(u, cast(u, v, DataType::int64), {1}); };
  const ValueId rank = one(u, "Shape", {one(u, "Shape", {x})});
  const ValueId ones =
      one(u, "ConstantOfShape", {rank}, with("value", int64_vector(std::array<int64_t, 1>{1})));
  return one(u, "ScatterElements", {ones, number(axis), number(count)});
}

/// The first version repeated along one axis, both given as numbers of the data's type.
void tile_6_from_1(UpgradeContext& u) {
  const std::vector<ValueId> inputs = u.node().inputs;
  if (inputs.size() != 3) return;  // reported by the check
  const Tensor* tiles = u.constant(inputs[1]);
  const Tensor* axis = u.constant(inputs[2]);
  const auto shape = u.input_type(0).shape;
  u.node().inputs.resize(1);
  if (!tiles || !axis || !shape || tiles->size() != 1 || axis->size() != 1)
    return set_input(u, 1, computed_repeats(u, inputs[0], inputs[1], inputs[2]));
  const double at = load_double(*axis, 0), count = load_double(*tiles, 0);
  if (!(at >= 0 && at < static_cast<double>(shape->size())) || !(count >= 0 && count < 9e18))
    throw Error(Code::node_bad_value, "import", "an axis of the input, and tiles of 0 or more",
                std::to_string(at) + " and " + std::to_string(count));
  std::vector<int64_t> repeats(shape->size(), 1);
  repeats[static_cast<size_t>(at)] = static_cast<int64_t>(count);
  set_input(u, 1, u.add_constant(int64_vector(repeats), "repeats"));
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Axes of size 1 are repeated as often as the shape tells; for other axes the shape has their size, or 1.
std::vector<ValueId> expand(DecomposeContext& c) {
  ValueId x = input(c, 0), shape = input(c, 1);
  if (c.opset() >= 8) return in_wider_types(c);
  const auto count = known(size_of(c, shape, 0));
  if (!count) unsupported("a shape of known length", c.type(shape).str());
  const int64_t rank = rank_of(c, x);
  if (*count > rank) {
    std::vector<int64_t> first(static_cast<size_t>(*count - rank));
    std::iota(first.begin(), first.end(), 0);
    x = unsqueezed(c, x, first);
  } else if (*count < rank) {
    shape = concat(c, {ints(c, std::vector<int64_t>(static_cast<size_t>(rank - *count), 1)), shape}, 0);
  }
  std::vector<int64_t> repeats;
  const Tensor* given = c.constant(shape);
  for (int64_t a = 0; given && a < given->size(); ++a)
    if (const auto size = known(size_of(c, x, a))) repeats.push_back(*size == 1 ? load_int(*given, a) : 1);
  if (given && static_cast<int64_t>(repeats.size()) == given->size())
    return {one(c, "Tile", {x, ints(c, repeats)})};
  const ValueId stretches = cast(c, one(c, "Equal", {one(c, "Shape", {x}), ints(c, {1})}), DataType::int64);
  const ValueId more = one(c, "Mul", {stretches, plus(c, shape, -1)});
  return {one(c, "Tile", {x, plus(c, more, 1)})};
}

}  // namespace
}  // namespace decomposition

void declare_expand(SchemaCatalog& c) {
  c.add("Expand")
      .version(8, "(input: T, shape: int64) -> (output: T) [T: @all]")
      .version(13, "(input: T, shape: int64) -> (output: T) [T: @all_13]")
      .rule<Expand>()
      .decompose(decomposition::expand)
      .tolerance({.exact = true});
  c.add("Tile")
      .version(1, "(input: T, tiles: T, axis: T) -> (output: T) [T: @float; T1: int64]")
      .version(6, "(input: T, repeats: T1) -> (output: T) [T: @all; T1: int64]", tile_6_from_1)
      .version(13, "(input: T, repeats: T1) -> (output: T) [T: @all_13; T1: int64]")
      .rule<Tile>()
      .tolerance({.exact = true});
}

}  // namespace lathe
