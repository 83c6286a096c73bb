#include "ops/matmul/matmul.h"

#include "schema/schema.h"

namespace lathe {

void declare_matmul(SchemaCatalog& c) {
  c.add("MatMul")
      .version(1, "(A: T, B: T) -> (Y: T) [T: @float]")
      .version(9, "(A: T, B: T) -> (Y: T) [T: @wide]")
      .version(13, "(A: T, B: T) -> (Y: T) [T: @wide_13]")
      .rule<MatMul>()
      .contract({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
