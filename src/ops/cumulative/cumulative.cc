#include "ops/cumulative/cumulative.h"

#include "schema/schema.h"

namespace lathe {

void declare_cumulative(SchemaCatalog& c) {
  c.add("CumSum")
      .version(
          11,
          "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: uint32 uint64 int32 int64 "
          "float double; T2: @index]")
      .version(14,
               "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: @wide_13; T2: @index]")
      .rule<Cumulative>()
      .contract({.epsilons = 2, .per_reduced = true});
  c.add("CumProd")
      .version(26,
               "(x: T, axis: T2) -> (y: T) {reverse: int = 0, exclusive: int = 0} [T: @wide_13; T2: @index]")
      .rule<Cumulative>()
      .contract({.epsilons = 2, .per_reduced = true});
}

}  // namespace lathe
