#include "ops/determinant/determinant.h"

#include "schema/schema.h"

namespace lathe {

void declare_determinant(SchemaCatalog& c) {
  c.add("Det")
      .version(11, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Determinant>()
      .tolerance({.epsilons = 64});
}

}  // namespace lathe
