#include "ops/trilu/trilu.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Compares the indices of rows and columns.
std::vector<ValueId> trilu(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  ValueId diagonal = unsqueezed(c, count_up(c, length(c, x, -2)), {1});
  if (has(c, 1)) diagonal = one(c, "Add", {diagonal, one(c, "Reshape", {input(c, 1), ints(c, {})})});
  const ValueId columns = count_up(c, length(c, x, -1));
  const bool upper = decode<Trilu>(c.node().attributes).upper;
  const ValueId gone = one(c, upper ? "Less" : "Greater", {columns, diagonal});
  return {one(c, "Where", {gone, c.add_constant(zeros(elem_of(c, x), {}), "nothing"), x})};
}

}  // namespace
}  // namespace decomposition

void declare_trilu(SchemaCatalog& c) {
  c.add("Trilu")
      .version(14, "(input: T, k?: int64) -> (output: T) {upper: int = 1} [T: @all_13]")
      .rule<Trilu>()
      .decompose(decomposition::trilu)
      .tolerance({.exact = true});
}

}  // namespace lathe
