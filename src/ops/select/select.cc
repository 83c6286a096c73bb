#include "ops/select/select.h"

#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {

void declare_select(SchemaCatalog& c) {
  c.add("NonZero")
      .version(9, "(X: T) -> (Y: int64) [T: @all]")
      .version(13, "(X: T) -> (Y: int64) [T: @all_13]")
      .rule<NonZero>()
      .tolerance({.exact = true});
  c.add("Compress")
      .version(9, "(input: T, condition: T1) -> (output: T) {axis: int} [T: @all; T1: bool]")
      .version(11, "(input: T, condition: T1) -> (output: T) {axis: int} [T: @all; T1: bool]", nullptr,
               axes_from_front)
      .version(28, "(input: T, condition: T1) -> (output: T) {axis: int} [T: @all_13; T1: bool]")
      .rule<Compress>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.exact = true});
  c.add("Unique")
      .version(11,
               "(X: T) -> (Y: T, indices?: int64, inverse_indices?: int64, counts?: int64) {axis: int, "
               "sorted: int = 1} [T: @all]")
      .version(28,
               "(X: T) -> (Y: T, indices?: int64, inverse_indices?: int64, counts?: int64) {axis: int, "
               "sorted: int = 1} [T: @all_13]")
      .rule<Unique>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.exact = true});
}

}  // namespace lathe
