#include "ops/top_k/top_k.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void top_k_10_from_1(UpgradeContext& u) {
  const int64_t k = u.node().attributes.get<int64_t>("k", 0);
  u.node().attributes.erase("k");
  set_input(u, 1, u.add_constant(int64_vector(std::vector<int64_t>{k}), "k"));
}

bool top_k_1_from_10(RewriteContext& c) {
  const auto k = constant_ints(c, 1);
  if (!k || k->size() != 1) return cannot_be_computed(c, "K");
  c.node().attributes.set("k", k->front());
  c.node().inputs.resize(1);
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// The least are the greatest of the negated numbers; integers are converted to double; for a computed K all
/// are sorted and the first K are sliced.
std::vector<ValueId> top_k(DecomposeContext& c) {
  const Node node = c.node();
  const auto op = decode<TopK>(node.attributes);
  const ValueId given = input(c, 0);
  const DataType type = elem_of(c, given);
  if (type == DataType::bfloat16) return in_wider_types(c);
  if (c.opset() >= 11) unsupported({}, {});
  if (is_integer(type) && bits_of(type) > 32)
    unsupported("floats or integers of up to 32 bits", std::string(name_of(type)));
  const bool computed = c.opset() < 10 && !c.constant(input(c, 1));
  if (op.largest && op.sorted && !is_integer(type) && !computed) unsupported({}, {});
  ValueId x = is_integer(type) ? cast(c, given, DataType::float64) : given;
  if (!op.largest) x = one(c, "Neg", {x});
  const int64_t axis = from_front(c, x, op.axis);
  ValueId k = input(c, 1);
  if (computed) {
    const auto size = known(size_of(c, x, axis));
    if (!size) unsupported("a constant 'K', or an axis of known size", c.type(x).str());
    k = ints(c, {*size});
  }
  std::vector<ValueId> made = c.insert("TopK", {x, k}, with("axis", axis), 2);
  if (computed)
    for (ValueId& v : made) v = sliced(c, v, ints(c, {0}), input(c, 1), axis);
  if (!op.largest) made[0] = one(c, "Neg", {made[0]});
  made[0] = cast(c, made[0], type);
  return made;
}

}  // namespace
}  // namespace decomposition

void declare_top_k(SchemaCatalog& c) {
  c.add("TopK")
      .version(1, "(X: T) -> (Values: T, Indices: I) {axis: int = -1, k: int!} [T: @float; I: int64]")
      .version(10, "(X: T, K: int64) -> (Values: T, Indices: I) {axis: int = -1} [T: @float; I: int64]",
               top_k_10_from_1, top_k_1_from_10)
      .version(11,
               "(X: T, K: int64) -> (Values: T, Indices: I) {sorted: int = 1, largest: int = 1, axis: int = "
               "-1} [T: @number; I: int64]",
               nullptr, axes_from_front)
      .version(24,
               "(X: T, K: int64) -> (Values: T, Indices: I) {sorted: int = 1, largest: int = 1, axis: int = "
               "-1} [T: @number_13; I: int64]")
      .rule<TopK>()
      .decompose(decomposition::top_k)
      .tolerance({.exact = true});
}

}  // namespace lathe
