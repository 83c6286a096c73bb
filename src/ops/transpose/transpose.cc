#include "ops/transpose/transpose.h"

#include "schema/schema.h"

namespace lathe {

void declare_transpose(SchemaCatalog& c) {
  c.add("Transpose")
      .version(1, "(data: T) -> (transposed: T) {perm: ints} [T: @all]")
      .version(13, "(data: T) -> (transposed: T) {perm: ints} [T: @all_13]")
      .version(21, "(data: T) -> (transposed: T) {perm: ints} [T: @all_ir10]")
      .version(23, "(data: T) -> (transposed: T) {perm: ints} [T: @all_ir11]")
      .version(24, "(data: T) -> (transposed: T) {perm: ints} [T: @all_ir12]")
      .version(25, "(data: T) -> (transposed: T) {perm: ints} [T: @all_ir13]")
      .rule<Transpose>()
      .tolerance({.exact = true});
}

}  // namespace lathe
