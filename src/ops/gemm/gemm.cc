#include "ops/gemm/gemm.h"

#include "schema/node_builder.h"

namespace lathe {
namespace {

/// A C of one row or one column broadcasts as in NumPy, with or without the attribute.
void gemm_7_from_6(UpgradeContext& u) { u.node().attributes.erase("broadcast"); }

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Without C a 0 is added; integers without factors become a MatMul and an Add.
std::vector<ValueId> gemm(DecomposeContext& c) {
  const Node node = c.node();
  const DataType type = elem_of(c, input(c, 0));
  if (c.opset() < 9 && is_integer(type)) {
    const auto& a = node.attributes;
    if (a.get<float>("alpha", 1) != 1 || (has(c, 2) && a.get<float>("beta", 1) != 1)) unsupported({}, {});
    const auto side = [&](size_t i, const char* name) {
      return a.get<int64_t>(name, 0) ? transposed(c, input(c, i), {1, 0}) : input(c, i);
    };
    const ValueId product = one(c, "MatMul", {side(0, "transA"), side(1, "transB")});
    return {has(c, 2) ? one(c, "Add", {product, input(c, 2)}) : product};
  }
  if (has(c, 2) || c.opset() >= 11) unsupported({}, {});
  return {one(c, "Gemm", {input(c, 0), input(c, 1), number(c, 0, type)}, node.attributes)};
}

}  // namespace
}  // namespace decomposition

void declare_gemm(SchemaCatalog& c) {
  c.add("Gemm")
      .version(1,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, broadcast: int = 0, transB: int = 0, alpha: "
               "float = 1, transA: int = 0} [T: @float]")
      .version(6,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, broadcast: int = 0, transB: int = 0, alpha: "
               "float = 1, transA: int = 0} [T: @float]")
      .version(7,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @float]",
               gemm_7_from_6)
      .version(9,
               "(A: T, B: T, C: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide]")
      .version(11,
               "(A: T, B: T, C?: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide]")
      .version(13,
               "(A: T, B: T, C?: T) -> (Y: T) {beta: float = 1, transB: int = 0, alpha: float = 1, transA: "
               "int = 0} [T: @wide_13]")
      .rule<Gemm>()
      .decompose(decomposition::gemm)
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
