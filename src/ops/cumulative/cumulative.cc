#include "ops/cumulative/cumulative.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Inserts a Scan along the axis that carries the product or the sum.
ValueId carried_along(DecomposeContext& c, ValueId x, int64_t axis, const Cumulative& op) {
  const DataType type = elem_of(c, x);
  const bool multiplies = c.node().op == "CumProd";
  Tensor unit(type, {1});
  store_double(unit, 0, multiplies);
  const ValueId slice = one(c, "Shape", {reduced(c, "ReduceSum", x, {axis}, false)});
  const ValueId ones = one(c, "ConstantOfShape", {slice}, with("value", std::move(unit)));
  auto body = std::make_shared<Graph>(&c.graph());
  ValueType at_place = ValueType::tensor(type);
  if (const auto& shape = c.type(x).shape) {
    at_place.shape = *shape;
    at_place.shape->erase(at_place.shape->begin() + axis);
  }
  const ValueId so_far = body->add_input("so_far", at_place), here = body->add_input("here", at_place);
  const ValueId next = one(*c.inside(*body), multiplies ? "Mul" : "Add", {so_far, here});
  body->set_outputs({next, op.exclusive ? so_far : next});
  const std::vector<int64_t> axes{axis}, directions{op.reverse};
  Attributes scan = with("num_scan_inputs", int64_t{1});
  for (const char* side : {"input", "output"}) {
    scan.set(std::string("scan_") + side + "_axes", axes);
    scan.set(std::string("scan_") + side + "_directions", directions);
  }
  const ValueId all = c.insert_with_bodies("Scan", {ones, x}, std::move(scan), {{"body", body}}, 2)[1];
  // A Scan over no slices does not know their sizes.
  return one(c, "Reshape", {all, one(c, "Shape", {x})});
}

std::vector<ValueId> cumulative(DecomposeContext& c) {
  // Version 14 only added types, and before 11 there was no CumSum.
  if (c.node().op == "CumSum" && c.opset() >= 11) return in_wider_types(c);
  const DataType type = elem_of(c, input(c, 0));
  const ValueId x = widened(c, input(c, 0));
  const auto along = [](DecomposeContext& in, std::span<const ValueId> operands, int64_t axis) {
    return carried_along(in, operands[0], axis, decode<Cumulative>(in.node().attributes));
  };
  if (const Tensor* axis = c.constant(input(c, 1)))
    return {cast(c, along(c, std::span(&x, 1), from_front(c, x, load_int(*axis, 0))), type)};
  return {cast(c, for_computed_axis(c, input(c, 1), rank_of(c, x), {x}, along), type)};
}

}  // namespace
}  // namespace decomposition

void declare_cumulative(SchemaCatalog& c) {
  c.add("CumSum")
      .version(
          11,
          "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: uint32 uint64 int32 int64 "
          "float double; T2: @index]")
      .version(14,
               "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: @wide_13; T2: @index]")
      .rule<Cumulative>()
      .decompose(decomposition::cumulative)
      .tolerance({.epsilons = 2, .per_reduced = true});
  c.add("CumProd")
      .version(26,
               "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: @wide_13; T2: @index]")
      .rule<Cumulative>()
      .decompose(decomposition::cumulative)
      .tolerance({.epsilons = 2, .per_reduced = true});
}

}  // namespace lathe
