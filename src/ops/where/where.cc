#include "ops/where/where.h"

#include "schema/schema.h"

namespace lathe {

void declare_where(SchemaCatalog& c) {
  c.add("Where")
      .version(9, "(condition: B, X: T, Y: T) -> (output: T) [B: bool; T: @all]")
      .version(16, "(condition: B, X: T, Y: T) -> (output: T) [B: bool; T: @all_13]")
      .rule<Where>()
      .contract({.exact = true});
}

}  // namespace lathe
