#include "ops/matmul/matmul.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Integers, all products and then their sums.
std::vector<ValueId> matmul(DecomposeContext& c) {
  ValueId a = input(c, 0), b = input(c, 1);
  if (c.opset() >= 9 || !is_integer(elem_of(c, a))) unsupported({}, {});
  const bool row = rank_of(c, a) == 1, column = rank_of(c, b) == 1;
  if (row) a = unsqueezed(c, a, {0});
  if (column) b = unsqueezed(c, b, {1});
  const ValueId products =
      one(c, "Mul", {unsqueezed(c, a, {rank_of(c, a)}), unsqueezed(c, b, {rank_of(c, b) - 2})});
  const int64_t rank = rank_of(c, products);
  const ValueId sums = reduced(c, "ReduceSum", products, {rank - 2}, false);
  std::vector<int64_t> gone;
  if (row) gone.push_back(rank - 3);
  if (column) gone.push_back(rank - 2);
  return {gone.empty() ? sums : one(c, "Squeeze", {sums, ints(c, gone)})};
}

}  // namespace
}  // namespace decomposition

void declare_matmul(SchemaCatalog& c) {
  c.add("MatMul")
      .version(1, "(A: T, B: T) -> (Y: T) [T: @float]")
      .version(9, "(A: T, B: T) -> (Y: T) [T: @wide]")
      .version(13, "(A: T, B: T) -> (Y: T) [T: @wide_13]")
      .rule<MatMul>()
      .decompose(decomposition::matmul)
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
