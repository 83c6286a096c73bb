#include "ops/scatter/scatter.h"

#include <limits>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

void scatter_elements_from_scatter(UpgradeContext& u) { u.node().op = "ScatterElements"; }

/// The first reductions were sums and products.
bool scatter_16_from_18(RewriteContext& c) {
  const auto reduction = c.node().attributes.get<std::string>("reduction", "none");
  return (reduction != "max" && reduction != "min") ||
         c.cannot("older ones have no reduction '" + reduction + "'");
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// The reduction of the elements in the data and the updates.
ValueId combined(InsertContext& c, const std::string& reduction, ValueId there, ValueId update) {
  const char* op = reduction == "add"   ? "Add"
                   : reduction == "mul" ? "Mul"
                   : reduction == "min" ? "Min"
                                        : "Max";
  return one(c, op, {there, update});
}

/// Repeats `step` for `count` places, each on the data that the one before returned. The other operands are
/// captured.
using ScatterStep = ValueId (*)(DecomposeContext& c, ValueId place, ValueId data, ValueId indices,
                                ValueId updates);
ValueId step_by_step(DecomposeContext& c, ValueId count, ValueId indices, ValueId updates, ScatterStep step) {
  const ValueId data = input(c, 0);
  auto body = std::make_shared<Graph>(&c.graph());
  const ValueId place = body->add_input("place", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId go_on = body->add_input("go_on", ValueType::tensor(DataType::boolean, SymShape{}));
  const ValueId so_far = body->add_input("so_far", c.type(data));
  const ValueId left = step(*c.inside(*body), place, so_far, body->capture(indices), body->capture(updates));
  body->set_outputs({go_on, left});
  return c.insert_with_bodies("Loop", {scalar_of(c, count), no_id, data}, {}, {{"body", body}}, 1)[0];
}

/// Slices one position of an axis.
ValueId at_place(InsertContext& c, ValueId v, ValueId place, int64_t axis) {
  const ValueId from = unsqueezed(c, place, {0});
  return sliced(c, v, from, plus(c, from, 1), axis);
}

/// The indices at one position of the axis select different elements, so each position is one step.
std::vector<ValueId> scatter_elements(DecomposeContext& c) {
  const auto op = decode<ScatterElements>(c.node().attributes);
  if (op.reduction == "none") {
    if (c.opset() >= 11) unsupported({}, {});
    const int64_t along = from_front(c, input(c, 0), op.axis);
    const ValueId front = counted_from_front(c, input(c, 1), input(c, 0), along);
    return {one(c, "Scatter", {input(c, 0), front, input(c, 2)}, with("axis", along))};
  }
  const ValueId count = length(c, input(c, 1), from_front(c, input(c, 0), op.axis));
  return {step_by_step(
      c, count, input(c, 1), input(c, 2),
      [](DecomposeContext& in, ValueId place, ValueId data, ValueId indices, ValueId updates) {
        const auto scatter = decode<ScatterElements>(in.node().attributes);
        const int64_t axis = from_front(in, data, scatter.axis);
        const Attributes along = with("axis", axis);
        const ValueId where = at_place(in, indices, place, axis);
        const ValueId there = one(in, "GatherElements", {data, where}, along);
        const ValueId made = combined(in, scatter.reduction, there, at_place(in, updates, place, axis));
        return one(in, "ScatterElements", {data, where, made}, along);
      })};
}

/// One tuple of indices after another.
std::vector<ValueId> scatter_nd(DecomposeContext& c) {
  const auto op = decode<ScatterND>(c.node().attributes);
  const ValueId data = input(c, 0), indices = input(c, 1), updates = input(c, 2);
  if (op.reduction == "none") {
    if (c.opset() >= 11) unsupported({}, {});
    const ValueId at = one(c, "Reshape", {tuples_as_numbers(c, data, indices, 0), ints(c, {-1, 1})});
    const auto named = known(size_of(c, indices, -1));
    const ValueId count = stride(c, data, *named - 1), parts = length(c, at, 0);
    const ValueId sizes = sizes_of(c, {parts, reshaped(c, count, {1})});
    const ValueId rows =
        one(c, "Reshape",
            {first_axes_as_one(c, data, *named), sizes_of(c, {ints(c, {-1}), reshaped(c, count, {1})})});
    const ValueId made =
        one(c, "ScatterElements", {rows, one(c, "Expand", {at, sizes}), reshaped_to(c, updates, sizes)});
    return {reshaped_to(c, made, one(c, "Shape", {data}))};
  }
  const auto tuple = known(size_of(c, indices, -1));
  if (!tuple) unsupported("indices whose last size is known", c.type(indices).str());
  const ValueId rows = reshaped(c, indices, {-1, *tuple});
  const ValueId end = ints(c, {std::numeric_limits<int64_t>::max()});
  const ValueId slice = sliced(c, one(c, "Shape", {data}), ints(c, {*tuple}), end, 0);
  const ValueId flat = reshaped_to(c, updates, concat(c, {length(c, rows, 0), slice}, 0));
  return {step_by_step(c, length(c, rows, 0), rows, flat,
                       [](DecomposeContext& in, ValueId place, ValueId so_far, ValueId all, ValueId changes) {
                         const ValueId where = at_place(in, all, place, 0);
                         const ValueId there = one(in, "GatherND", {so_far, where});
                         const auto reduction = decode<ScatterND>(in.node().attributes).reduction;
                         const ValueId made = combined(in, reduction, there, at_place(in, changes, place, 0));
                         return one(in, "ScatterND", {so_far, where, made});
                       })};
}

/// Computes the index along the axis of every element of the update.
std::vector<ValueId> tensor_scatter(DecomposeContext& c) {
  const auto op = decode<TensorScatter>(c.node().attributes);
  const ValueId cache = input(c, 0), update = input(c, 1);
  const int64_t rank = rank_of(c, cache), axis = from_front(c, cache, op.axis);
  std::vector<int64_t> along(static_cast<size_t>(rank), 1), by_sample = along;
  along[static_cast<size_t>(axis)] = by_sample[0] = -1;
  ValueId places = reshaped(c, count_up(c, length(c, update, axis)), along);
  if (has(c, 2)) places = one(c, "Add", {places, reshaped(c, input(c, 2), by_sample)});
  if (op.mode == "circular") places = one(c, "Mod", {places, length(c, cache, axis)});
  const ValueId all = one(c, "Expand", {places, one(c, "Shape", {update})});
  return {one(c, "ScatterElements", {cache, all, update}, with("axis", axis))};
}

}  // namespace
}  // namespace decomposition

void declare_scatter(SchemaCatalog& c) {
  c.add("ScatterElements")
      .version(11,
               "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(
          13,
          "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .version(16,
               "(data: T, indices: Tind, updates: T) -> (output: T) {reduction: string = 'none', axis: int = "
               "0} [T: @all_13; Tind: @index]")
      .version(18,
               "(data: T, indices: Tind, updates: T) -> (output: T) {reduction: string = 'none', axis: int = "
               "0} [T: @all_13; Tind: @index]",
               nullptr, scatter_16_from_18)
      .rule<ScatterElements>()
      .decompose(decomposition::scatter_elements)
      .tolerance({.epsilons = 8});
  c.add("Scatter")
      .version(9,
               "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .deprecated(11, scatter_elements_from_scatter)
      .rule<ScatterElements>()
      .tolerance({.exact = true});
  c.add("ScatterND")
      .version(11, "(data: T, indices: int64, updates: T) -> (output: T) [T: @all]")
      .version(13, "(data: T, indices: int64, updates: T) -> (output: T) [T: @all_13]")
      .version(
          16,
          "(data: T, indices: int64, updates: T) -> (output: T) {reduction: string = 'none'} [T: @all_13]")
      .version(
          18,
          "(data: T, indices: int64, updates: T) -> (output: T) {reduction: string = 'none'} [T: @all_13]",
          nullptr, scatter_16_from_18)
      .rule<ScatterND>()
      .decompose(decomposition::scatter_nd)
      .tolerance({.epsilons = 8});
  c.add("TensorScatter")
      .version(24,
               "(past_cache: T, update: T, write_indices?: int64) -> (present_cache: T) {mode: string = "
               "'linear', axis: int = -2} [T: @all_ir12]")
      .rule<TensorScatter>()
      .decompose(decomposition::tensor_scatter)
      .tolerance({.exact = true});
}

}  // namespace lathe
