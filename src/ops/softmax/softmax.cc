#include "ops/softmax/softmax.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

/// Before version 13 all axes from `axis` on were one.
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

/// With one axis from the last on, both versions mean the same; the older one knew no scalars.
bool softmax_11_from_13(RewriteContext& c) {
  Attributes& a = c.node().attributes;
  const int64_t axis = a.get<int64_t>("axis", -1);
  const auto rank = rank_of(c.input_type(0));
  a.set("axis", int64_t{-1});
  if (rank && *rank == 0) return false;
  return axis == -1 || (rank && axis + 1 == static_cast<int64_t>(*rank));
}

}  // namespace

void declare_softmax(SchemaCatalog& c) {
  c.add("Softmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<Softmax>()
      .contract({.epsilons = 8});
  c.add("LogSoftmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<LogSoftmax>()
      .contract({.epsilons = 8});
  c.add("Hardmax")
      .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: @float]")
      .version(11, "(input: T) -> (output: T) {axis: int = 1} [T: @float]", nullptr, axes_from_front)
      .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
               softmax_11_from_13)
      .rule<Hardmax>()
      .contract({.exact = true});
}

}  // namespace lathe
