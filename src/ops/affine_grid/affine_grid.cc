#include "ops/affine_grid/affine_grid.h"

#include "schema/schema.h"

namespace lathe {

void declare_affine_grid(SchemaCatalog& c) {
  c.add("AffineGrid")
      .version(20, "(theta: T1, size: T2) -> (grid: T1) {align_corners: int = 0} [T1: @float_13; T2: int64]")
      .rule<AffineGrid>()
      .contract({.epsilons = 8});
}

}  // namespace lathe
