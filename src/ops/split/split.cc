#include "ops/split/split.h"

#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The first version gave the sizes as an input of the data's type.
void split_2_from_1(UpgradeContext& u) {
  pin_attribute(u, "axis", int64_t{0});
  auto& inputs = u.node().inputs;
  if (inputs.size() < 2 || inputs[1] == no_id) return;
  const Tensor* sizes = u.constant(inputs[1]);
  if (!sizes)
    throw Error(Code::node_cannot_convert, "import", "sizes of parts that are constant",
                "a computed input 'split'", "convert the model to opset 2 or newer");
  std::vector<int64_t> parts;
  for (int64_t i = 0; i < sizes->size(); ++i) parts.push_back(static_cast<int64_t>(load_double(*sizes, i)));
  inputs.resize(1);
  u.node().attributes.set("split", parts);
}

void split_13_from_11(UpgradeContext& u) { ints_to_input(u, "split", 1); }

}  // namespace

void declare_split(SchemaCatalog& c) {
  c.add("Split")
      .version(1, "(input: T, split?: T) -> (outputs*1: T) {split: ints, axis: int} [T: @float]")
      .version(2, "(input: T) -> (outputs*1: T) {split: ints, axis: int = 0} [T: @all]", split_2_from_1)
      .version(11, "(input: T) -> (outputs*1: T) {split: ints, axis: int = 0} [T: @all]")
      .version(13, "(input: T, split?: int64) -> (outputs*1: T) {axis: int = 0} [T: @all_13]",
               split_13_from_11)
      .version(18,
               "(input: T, split?: int64) -> (outputs*1: T) {num_outputs: int, axis: int = 0} [T: @all_13]")
      .rule<Split>()
      .contract({.exact = true});
}

}  // namespace lathe
