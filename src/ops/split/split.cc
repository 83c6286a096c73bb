#include "ops/split/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

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
  for (int64_t i = 0; i < sizes->size(); ++i) {
    const double size = load_double(*sizes, i);
    if (!(size >= 0 && size < 9e18 && size == std::floor(size)))
      throw Error(Code::node_bad_value, "import", "sizes of parts that are whole numbers",
                  std::to_string(size));
    parts.push_back(static_cast<int64_t>(size));
  }
  inputs.resize(1);
  u.node().attributes.set("split", parts);
}

void split_13_from_11(UpgradeContext& u) { ints_to_input(u, "split", 1); }

bool split_11_from_13(RewriteContext& c) { return input_to_ints(c, 1, "split"); }

/// From version 18 on num_outputs requests equal parts.
void split_18_from_13(UpgradeContext& u) {
  Node& n = u.node();
  if (n.inputs.size() < 2 || n.inputs[1] == no_id)
    n.attributes.set("num_outputs", static_cast<int64_t>(n.outputs.size()));
}

/// Before version 18 all parts were equal.
bool split_13_from_18(RewriteContext& c) {
  Node& n = c.node();
  if (!n.attributes.has("num_outputs")) return true;
  const auto& shape = c.input_type(0).shape;
  if (!shape) return c.cannot("in older ones all parts are equal, and the shape is not known");
  const int64_t axis = n.attributes.get<int64_t>("axis", 0), rank = static_cast<int64_t>(shape->size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  const auto parts = static_cast<int64_t>(n.outputs.size());
  if (at < 0 || at >= rank || mod((*shape)[static_cast<size_t>(at)], Dim(parts)) != Dim(0))
    return c.cannot("in older ones all parts are equal, and these " + std::to_string(parts) + " need not be");
  n.attributes.erase("num_outputs");
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Splits into parts that are not equal: the last one is the remainder, and others may be empty.
std::vector<ValueId> split(DecomposeContext& c) {
  const Node node = c.node();
  const auto* parts = node.attributes.get_if<int64_t>("num_outputs");
  const ValueId x = input(c, 0);
  if (!parts) {
    if (c.opset() >= 13 || !has(c, 1) || c.constant(input(c, 1))) unsupported({}, {});
    const int64_t along = from_front(c, x, node.attributes.get<int64_t>("axis", 0));
    std::vector<ValueId> made;
    ValueId start = ints(c, {0});
    for (int64_t i = 0; i < static_cast<int64_t>(node.outputs.size()); ++i) {
      const ValueId end = one(c, "Add", {start, sliced(c, input(c, 1), ints(c, {i}), ints(c, {i + 1}), 0)});
      made.push_back(sliced(c, x, start, end, along));
      start = end;
    }
    return made;
  }
  const int64_t n = *parts, axis = node.attributes.get<int64_t>("axis", 0);
  ValueId sizes = no_id;
  if (const auto size = known(size_of(c, x, axis))) {
    const int64_t each = *size / n + (*size % n != 0);
    std::vector<int64_t> all;
    for (int64_t i = 0; i < n; ++i) all.push_back(std::clamp<int64_t>(*size - each * i, 0, each));
    sizes = ints(c, all);
  } else {
    const ValueId whole = length(c, x, axis);
    const ValueId each = one(c, "Div", {plus(c, whole, static_cast<double>(n - 1)), int_scalar(c, n)});
    std::vector<int64_t> number(static_cast<size_t>(n));
    std::iota(number.begin(), number.end(), 0);
    const ValueId rest = one(c, "Sub", {whole, one(c, "Mul", {each, ints(c, number)})});
    const ValueId some = one(c, "Where", {one(c, "Less", {rest, each}), rest, each});
    sizes = one(c, "Where", {one(c, "Less", {rest, ints(c, {0})}), ints(c, {0}), some});
  }
  return c.insert("Split", {x, sizes}, with("axis", axis), node.outputs.size());
}

}  // namespace
}  // namespace decomposition

void declare_split(SchemaCatalog& c) {
  c.add("Split")
      .version(1, "(input: T, split?: T) -> (outputs*1: T) {split: ints, axis: int} [T: @float]")
      .version(2, "(input: T) -> (outputs*1: T) {split: ints, axis: int = 0} [T: @all]", split_2_from_1)
      .version(11, "(input: T) -> (outputs*1: T) {split: ints, axis: int = 0} [T: @all]", nullptr,
               axes_from_front)
      .version(13, "(input: T, split?: int64) -> (outputs*1: T) {axis: int = 0} [T: @all_13]",
               split_13_from_11, split_11_from_13)
      .version(18,
               "(input: T, split?: int64) -> (outputs*1: T) {num_outputs: int, axis: int = 0} [T: @all_13]",
               split_18_from_13, split_13_from_18)
      .rule<Split>()
      .decompose(decomposition::split)
      .tolerance({.exact = true});
}

}  // namespace lathe
