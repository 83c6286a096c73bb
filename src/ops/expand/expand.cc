#include "ops/expand/expand.h"

#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The first version repeated along one axis, both given as numbers of the data's type.
void tile_6_from_1(UpgradeContext& u) {
  const auto& inputs = u.node().inputs;
  const Tensor* tiles = inputs.size() == 3 ? u.constant(inputs[1]) : nullptr;
  const Tensor* axis = inputs.size() == 3 ? u.constant(inputs[2]) : nullptr;
  const auto shape = u.input_type(0).shape;
  if (!tiles || !axis || !shape || tiles->size() != 1 || axis->size() != 1)
    throw Error(Code::node_cannot_convert, "import", "constant tiles and axis, and an input of known rank",
                "computed ones", "convert the model to opset 6 or newer");
  const double at = load_double(*axis, 0), count = load_double(*tiles, 0);
  if (!(at >= 0 && at < static_cast<double>(shape->size())) || !(count >= 0 && count < 9e18))
    throw Error(Code::node_bad_value, "import", "an axis of the input, and tiles of 0 or more",
                std::to_string(at) + " and " + std::to_string(count));
  std::vector<int64_t> repeats(shape->size(), 1);
  repeats[static_cast<size_t>(at)] = static_cast<int64_t>(count);
  u.node().inputs.resize(1);
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
