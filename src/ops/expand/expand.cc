#include "ops/expand/expand.h"

#include "schema/words.h"

namespace lathe {
namespace {

/// `count` at `axis`, 1 at the others.
ValueId computed_repeats(UpgradeContext& u, ValueId x, ValueId count, ValueId axis) {
  using namespace words;
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

void declare_expand(SchemaCatalog& c) {
  c.add("Expand")
      .version(8, "(input: T, shape: int64) -> (output: T) [T: @all]")
      .version(13, "(input: T, shape: int64) -> (output: T) [T: @all_13]")
      .rule<Expand>()
      .contract({.exact = true});
  c.add("Tile")
      .version(1, "(input: T, tiles: T, axis: T) -> (output: T) [T: @float; T1: int64]")
      .version(6, "(input: T, repeats: T1) -> (output: T) [T: @all; T1: int64]", tile_6_from_1)
      .version(13, "(input: T, repeats: T1) -> (output: T) [T: @all_13; T1: int64]")
      .rule<Tile>()
      .contract({.exact = true});
}

}  // namespace lathe
