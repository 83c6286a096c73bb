#include "ops/shape/shape.h"

#include <limits>

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

std::vector<ValueId> shape(DecomposeContext& c) {
  const Attributes& a = c.node().attributes;
  if (!a.has("start") && !a.has("end")) unsupported("tensors of other types", c.input_type(0).str(false));
  const ValueId from = ints(c, {a.get<int64_t>("start", 0)});
  const ValueId to = ints(c, {a.get("end", std::numeric_limits<int64_t>::max())});
  return {sliced(c, one(c, "Shape", {input(c, 0)}), from, to, 0)};
}

}  // namespace
}  // namespace decomposition

void declare_shape(SchemaCatalog& c) {
  c.add("Shape")
      .version(1, "(data: T) -> (shape: T1) [T: @all; T1: int64]")
      .version(13, "(data: T) -> (shape: T1) [T: @all_13; T1: int64]")
      .version(15, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_13; T1: int64]")
      .version(19, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_ir9; T1: int64]")
      .version(21, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_ir10; T1: int64]")
      .version(23, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_ir11; T1: int64]")
      .version(24, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_ir12; T1: int64]")
      .version(25, "(data: T) -> (shape: T1) {end: int, start: int = 0} [T: @all_ir13; T1: int64]")
      .rule<ShapeOf>()
      .decompose(decomposition::shape)
      .tolerance({.exact = true});
  c.add("Size")
      .version(1, "(data: T) -> (size: T1) [T: @all; T1: int64]")
      .version(13, "(data: T) -> (size: T1) [T: @all_13; T1: int64]")
      .version(19, "(data: T) -> (size: T1) [T: @all_ir9; T1: int64]")
      .version(21, "(data: T) -> (size: T1) [T: @all_ir10; T1: int64]")
      .version(23, "(data: T) -> (size: T1) [T: @all_ir11; T1: int64]")
      .version(24, "(data: T) -> (size: T1) [T: @all_ir12; T1: int64]")
      .version(25, "(data: T) -> (size: T1) [T: @all_ir13; T1: int64]")
      .rule<SizeOf>()
      .tolerance({.exact = true});
}

}  // namespace lathe
