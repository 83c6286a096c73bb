#include "ops/affine_grid/affine_grid.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Coordinates of the pixels of an axis; `size` is a list of one.
ValueId coordinates(DecomposeContext& c, ValueId size, DataType type, bool align_corners) {
  const ValueId place = cast(c, count_up(c, size), type), count = cast(c, size, type);
  const ValueId twice = times(c, place, 2);
  if (!align_corners) return plus(c, one(c, "Div", {plus(c, twice, 1), count}), -1);
  const ValueId steps = one(c, "Max", {plus(c, count, -1), number(c, 1, type)});
  return plus(c, one(c, "Div", {twice, steps}), -1);
}

/// Every pixel's x, y, z and 1 times theta.
std::vector<ValueId> affine_grid(DecomposeContext& c) {
  const bool align_corners = decode<AffineGrid>(c.node().attributes).align_corners;
  const ValueId theta = widened(c, input(c, 0));
  const auto rows = known(size_of(c, theta, 1));
  if (!rows) unsupported("a theta of known size", c.type(theta).str());
  const DataType type = elem_of(c, theta);
  const auto size_at = [&](int64_t i) { return sliced(c, input(c, 1), ints(c, {i}), ints(c, {i + 1}), 0); };
  const ValueId sizes = sliced(c, input(c, 1), ints(c, {2}), ints(c, {2 + *rows}), 0);
  const ValueId column = concat(c, {sizes, ints(c, {1})}, 0);
  std::vector<ValueId> point;  // the last axis of the image first
  for (int64_t k = *rows; k-- > 0;) {
    ValueId at = coordinates(c, size_at(2 + k), type, align_corners);
    std::vector<int64_t> shape(static_cast<size_t>(*rows + 1), 1);
    shape[static_cast<size_t>(k)] = -1;
    point.push_back(one(c, "Expand", {reshaped(c, at, shape), column}));
  }
  point.push_back(one(c, "Expand", {number(c, 1, type), column}));
  const ValueId points = reshaped(c, concat(c, std::move(point), -1), {-1, *rows + 1});
  const ValueId grid = one(c, "MatMul", {points, transposed(c, theta, {0, 2, 1})});
  const ValueId shape = concat(c, {length(c, theta, 0), sizes, ints(c, {*rows})}, 0);
  const ValueId image = reshaped_to(c, grid, shape);
  return {cast(c, image, elem_of(c, input(c, 0)))};
}

}  // namespace
}  // namespace decomposition

void declare_affine_grid(SchemaCatalog& c) {
  c.add("AffineGrid")
      .version(20, "(theta: T1, size: T2) -> (grid: T1) {align_corners: int = 0} [T1: @float_13; T2: int64]")
      .rule<AffineGrid>()
      .decompose(decomposition::affine_grid)
      .tolerance({.epsilons = 8});
}

}  // namespace lathe
