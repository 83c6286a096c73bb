#include "ops/softmax/softmax.h"

#include <algorithm>
#include <numeric>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Before version 13 all axes from `axis` on were flattened to one.
void softmax_13_from_11(UpgradeContext& u) {
  Node& n = u.node();
  const int64_t axis = n.attributes.get<int64_t>("axis", 1);
  n.attributes.set("axis", int64_t{-1});
  const auto shape = u.input_type(0).shape;
  const auto rank = static_cast<int64_t>(shape ? shape->size() : 0);
  if (shape && (axis < -rank || axis >= rank))
    throw Error(Code::node_bad_attribute, "import", "an axis of the input", std::to_string(axis));
  if (axis == -1 || (shape && axis == rank - 1)) return;
  const ValueId x = n.inputs[0];
  Attributes split, with_zeros;
  split.set("axis", axis);
  with_zeros.set("allowzero", int64_t{1});
  const ValueId sizes = u.insert("Shape", {x}, {})[0];
  const ValueId flat = u.insert("Flatten", {x}, split)[0];
  u.node().inputs.set(0, flat);
  u.append(0, "Reshape", {sizes}, with_zeros);
}

/// If `axis` is the last, or all axes behind it have size 1, both versions mean the same; the older one takes
/// no scalars.
bool softmax_11_from_13(RewriteContext& c) {
  Attributes& a = c.node().attributes;
  const int64_t axis = a.get<int64_t>("axis", -1);
  const auto rank = rank_of(c.input_type(0));
  const auto& shape = c.input_type(0).shape;
  a.set("axis", int64_t{-1});
  if (rank && *rank == 0) return c.cannot("older ones take no scalars");
  if (axis == -1 || (rank && axis + 1 == static_cast<int64_t>(*rank))) return true;
  const int64_t front = axis < 0 && rank ? axis + static_cast<int64_t>(*rank) : axis;
  if (shape && front >= 0 && std::ranges::all_of(shape->begin() + front + 1, shape->end(), [](const Dim& d) {
        return d == Dim(1);
      })) {
    a.set("axis", front);
    return true;
  }
  return c.cannot("in older ones all axes from 'axis' (" + std::to_string(axis) + ") on are one" +
                  (rank ? "" : ", and the rank is not known"));
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Computes along the last axis, which is swapped with `axis`.
std::vector<ValueId> along_last_axis(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  const std::string op = c.node().op;
  if (c.opset() >= 13 || elem_of(c, x) == DataType::bfloat16) return in_wider_types(c);
  const int64_t rank = rank_of(c, x);
  const Attributes last = with("axis", int64_t{-1});
  if (rank == 0) return {as_scalar(c, one(c, op, {reshaped(c, x, {1})}, last))};
  const auto axis = static_cast<size_t>(from_front(c, x, c.node().attributes.get<int64_t>("axis", -1)));
  const auto end = static_cast<size_t>(rank - 1);
  if (axis >= end) unsupported({}, {});
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[end]);
  return {transposed(c, one(c, op, {transposed(c, x, order)}, last), order)};
}

}  // namespace
}  // namespace decomposition

void declare_softmax(SchemaCatalog& c) {
  c.add("Softmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<Softmax>()
      .decompose(decomposition::along_last_axis)
      .tolerance({.epsilons = 8});
  c.add("LogSoftmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<LogSoftmax>()
      .decompose(decomposition::along_last_axis)
      .tolerance({.epsilons = 8});
  c.add("Hardmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<Hardmax>()
      .decompose(decomposition::along_last_axis)
      .tolerance({.exact = true});
}

}  // namespace lathe
