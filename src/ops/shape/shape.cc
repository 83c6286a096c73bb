#include "ops/shape/shape.h"

#include <limits>

#include "schema/words.h"

namespace lathe {

namespace spelling {
using namespace words;
namespace {

std::vector<ValueId> shape(SpellContext& c) {
  const Attributes& a = c.node().attributes;
  if (!a.has("start") && !a.has("end")) unsaid("tensors of other types", c.input_type(0).str(false));
  const ValueId from = ints(c, {a.get<int64_t>("start", 0)});
  const ValueId to = ints(c, {a.get("end", std::numeric_limits<int64_t>::max())});
  return {sliced(c, one(c, "Shape", {input(c, 0)}), from, to, 0)};
}

}  // namespace
}  // namespace spelling

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
      .spelled(spelling::shape)
      .contract({.exact = true});
  c.add("Size")
      .version(1, "(data: T) -> (size: T1) [T: @all; T1: int64]")
      .version(13, "(data: T) -> (size: T1) [T: @all_13; T1: int64]")
      .version(19, "(data: T) -> (size: T1) [T: @all_ir9; T1: int64]")
      .version(21, "(data: T) -> (size: T1) [T: @all_ir10; T1: int64]")
      .version(23, "(data: T) -> (size: T1) [T: @all_ir11; T1: int64]")
      .version(24, "(data: T) -> (size: T1) [T: @all_ir12; T1: int64]")
      .version(25, "(data: T) -> (size: T1) [T: @all_ir13; T1: int64]")
      .rule<SizeOf>()
      .contract({.exact = true});
}

}  // namespace lathe
