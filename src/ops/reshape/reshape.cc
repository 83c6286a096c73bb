#include "ops/reshape/reshape.h"

#include <algorithm>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

void reshape_5_from_1(UpgradeContext& u) {
  if (!u.node().attributes.has("shape"))
    throw Error(Code::node_bad_attribute, "import", "attribute 'shape'", "none");
  u.node().attributes.erase("consumed_inputs");
  ints_to_input(u, "shape", 1);
}

void axes_13_from_11(UpgradeContext& u) { ints_to_input(u, "axes", 1); }

/// Axes that are given but none would mean all of them to the older version.
bool squeeze_11_from_13(RewriteContext& c) {
  if (!input_to_ints(c, 1, "axes")) return false;
  const auto* axes = c.node().attributes.get_if<std::vector<int64_t>>("axes");
  return !axes || !axes->empty() || c.cannot("in older ones a list of no axes means all axes of size 1");
}

bool unsqueeze_11_from_13(RewriteContext& c) { return input_to_ints(c, 1, "axes"); }

bool new_axes_from_front(RewriteContext& c) {
  return count_from_front(c, "axes", rank_of(c.type(c.node().outputs[0])));
}

/// allowzero makes no difference if the shape has no zeros.
bool reshape_13_from_14(RewriteContext& c) {
  Node& n = c.node();
  if (n.attributes.get<int64_t>("allowzero", 0) == 0) return true;
  const auto& shape = c.type(n.outputs[0]).shape;
  const auto not_zero = [](const Dim& d) { return d.is_constant() && d.constant() != 0; };
  if (!shape || !std::ranges::all_of(*shape, not_zero))
    return c.cannot("older ones have no 'allowzero', and the shape may hold a 0");
  n.attributes.erase("allowzero");
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// If its shape has a 0, the output has no elements, and is made anew.
std::vector<ValueId> reshape(DecomposeContext& c) {
  const ValueId x = input(c, 0), shape = input(c, 1);
  if (c.node().attributes.get<int64_t>("allowzero", 0) == 0) unsupported({}, {});
  const auto nothing = [&](InsertContext& where, ValueId v) {
    return one(where, "ConstantOfShape", {v}, with("value", zeros(elem_of(c, x), {1})));
  };
  if (c.constant(shape)) return {nothing(c, shape)};
  const ValueId zeros = cast(c, one(c, "Equal", {shape, int_scalar(c, 0)}), DataType::int32);
  const ValueId any = cast(c, reduced(c, "ReduceSum", zeros, {0}, false), DataType::boolean);
  auto empty = std::make_shared<Graph>(&c.graph()), whole = std::make_shared<Graph>(&c.graph());
  empty->set_outputs({nothing(*c.inside(*empty), empty->capture(shape))});
  whole->set_outputs({one(*c.inside(*whole), "Reshape", {whole->capture(x), whole->capture(shape)})});
  return c.insert_with_bodies("If", {any}, {}, {{"else_branch", whole}, {"then_branch", empty}}, 1);
}

std::vector<ValueId> squeeze(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  if (c.opset() >= 13 || !has(c, 1)) unsupported({}, {});
  const Tensor* axes = c.constant(input(c, 1));
  if (axes && axes->size() == 0) return {one(c, "Identity", {x})};
  if (axes) unsupported({}, {});
  const int64_t rank = rank_of(c, x);
  const auto count = known(size_of(c, input(c, 1), 0));
  const ValueId flags = axis_flags(c, input(c, 1), rank), sizes = one(c, "Shape", {x});
  const auto left = count ? std::optional(rank - *count) : std::nullopt;
  return {reshaped_surely(c, x, sizes_left(c, sizes, flags, rank, left), x)};
}

/// The sizes of x go to the positions that are not new, in their order.
std::vector<ValueId> unsqueeze(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  if (c.opset() >= 13 || c.constant(input(c, 1))) unsupported({}, {});
  const auto count = known(size_of(c, input(c, 1), 0));
  if (!count) unsupported("a known number of new axes", c.input_type(1).str());
  const int64_t rank = rank_of(c, x) + *count;
  Tensor before = zeros(DataType::int64, {rank, rank});
  std::vector<int64_t> all(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    all[static_cast<size_t>(i)] = i;
    for (int64_t k = 0; k < i; ++k) store_int(before, i * rank + k, 1);
  }
  const ValueId flags = axis_flags(c, input(c, 1), rank), old = one(c, "Sub", {int_scalar(c, 1), flags});
  const ValueId passed = reduced(
      c, "ReduceSum", one(c, "Mul", {c.add_constant(std::move(before), "before"), flags}), {1}, false);
  const ValueId from = one(c, "Mul", {one(c, "Sub", {ints(c, all), passed}), old});
  const ValueId sizes = gathered(c, concat(c, {one(c, "Shape", {x}), ints(c, {1})}, 0), from, 0);
  return {reshaped_surely(c, x, one(c, "Add", {one(c, "Mul", {sizes, old}), flags}), x)};
}

/// The first versions flatten floats alone.
std::vector<ValueId> flatten(DecomposeContext& c) {
  if (c.opset() >= 9) unsupported({}, {});
  const ValueId x = input(c, 0);
  const int64_t axis = from_front(c, x, c.node().attributes.get<int64_t>("axis", 1));
  return {
      reshaped_to(c, x, sizes_of(c, {size_of_axes(c, x, 0, axis), size_of_axes(c, x, axis, rank_of(c, x))}))};
}

}  // namespace
}  // namespace decomposition

void declare_reshape(SchemaCatalog& c) {
  c.add("Reshape")
      .version(1, "(data: T) -> (reshaped: T) {consumed_inputs: ints, shape: ints} [T: @float]")
      .version(5, "(data: T, shape: int64) -> (reshaped: T) [T: @all]", reshape_5_from_1)
      .version(13, "(data: T, shape: int64) -> (reshaped: T) [T: @all_13]")
      .version(14, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_13]", nullptr,
               reshape_13_from_14)
      .version(19, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir9]")
      .version(21, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir10]")
      .version(23, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir11]")
      .version(24, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir12]")
      .version(25, "(data: T, shape: int64) -> (reshaped: T) {allowzero: int = 0} [T: @all_ir13]")
      .rule<Reshape>()
      .decompose(decomposition::reshape)
      .tolerance({.exact = true});
  c.add("Flatten")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(9, "(input: T) -> (output: T) {axis: int = 1} [T: @all]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @all]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = 1} [T: @all_13]")
      .version(21, "(input: T) -> (output: T) {axis: int = 1} [T: @all_ir10]")
      .version(23, "(input: T) -> (output: T) {axis: int = 1} [T: @all_ir11]")
      .version(24, "(input: T) -> (output: T) {axis: int = 1} [T: @all_ir12]")
      .version(25, "(input: T) -> (output: T) {axis: int = 1} [T: @all_ir13]")
      .rule<Flatten>()
      .decompose(decomposition::flatten)
      .tolerance({.exact = true});
  c.add("Squeeze")
      .version(1, "(data: T) -> (squeezed: T) {axes: ints} [T: @all]")
      .version(11, "(data: T) -> (squeezed: T) {axes: ints} [T: @all]", nullptr, axes_from_front)
      .version(13, "(data: T, axes?: int64) -> (squeezed: T) [T: @all_13]", axes_13_from_11,
               squeeze_11_from_13)
      .version(21, "(data: T, axes?: int64) -> (squeezed: T) [T: @all_ir10]")
      .version(23, "(data: T, axes?: int64) -> (squeezed: T) [T: @all_ir11]")
      .version(24, "(data: T, axes?: int64) -> (squeezed: T) [T: @all_ir12]")
      .version(25, "(data: T, axes?: int64) -> (squeezed: T) [T: @all_ir13]")
      .rule<Squeeze>()
      .decompose(decomposition::squeeze)
      .tolerance({.exact = true});
  c.add("Unsqueeze")
      .version(1, "(data: T) -> (expanded: T) {axes: ints!} [T: @all]")
      .version(11, "(data: T) -> (expanded: T) {axes: ints!} [T: @all]", nullptr, new_axes_from_front)
      .version(13, "(data: T, axes: int64) -> (expanded: T) [T: @all_13]", axes_13_from_11,
               unsqueeze_11_from_13)
      .version(21, "(data: T, axes: int64) -> (expanded: T) [T: @all_ir10]")
      .version(23, "(data: T, axes: int64) -> (expanded: T) [T: @all_ir11]")
      .version(24, "(data: T, axes: int64) -> (expanded: T) [T: @all_ir12]")
      .version(25, "(data: T, axes: int64) -> (expanded: T) [T: @all_ir13]")
      .rule<Unsqueeze>()
      .decompose(decomposition::unsqueeze)
      .tolerance({.exact = true});
  c.add("Identity")
      .version(1, "(input: T) -> (output: T) [T: @all]")
      .version(13, "(input: T) -> (output: T) [T: @all_13]")
      .version(14, "(input: V) -> (output: V) [V: @all_13 seq(@all)]")
      .version(16, "(input: V) -> (output: V) [V: @all_13 seq(@all) optional(@all) optional(seq(@all))]")
      .version(19, "(input: V) -> (output: V) [V: @all_ir9 seq(@all) optional(@all) optional(seq(@all))]")
      .version(21, "(input: V) -> (output: V) [V: @all_ir10 seq(@all) optional(@all) optional(seq(@all))]")
      .version(23, "(input: V) -> (output: V) [V: @all_ir11 seq(@all) optional(@all) optional(seq(@all))]")
      .version(24, "(input: V) -> (output: V) [V: @all_ir12 seq(@all) optional(@all) optional(seq(@all))]")
      .version(25, "(input: V) -> (output: V) [V: @all_ir13 seq(@all) optional(@all) optional(seq(@all))]")
      .rule<Identity>()
      .tolerance({.exact = true});
}

}  // namespace lathe
