#include "ops/trilu/trilu.h"

#include "schema/schema.h"

namespace lathe {

void declare_trilu(SchemaCatalog& c) {
  c.add("Trilu")
      .version(14, "(input: T, k?: int64) -> (output: T) {upper: int = 1} [T: @all_13]")
      .rule<Trilu>()
      .contract({.exact = true});
}

}  // namespace lathe
