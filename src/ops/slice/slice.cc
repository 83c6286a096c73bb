#include "ops/slice/slice.h"

#include "schema/upgrade.h"

namespace lathe {
namespace {

void slice_10_from_1(UpgradeContext& u) {
  ints_to_input(u, "starts", 1);
  ints_to_input(u, "ends", 2);
  ints_to_input(u, "axes", 3);
}

}  // namespace

void declare_slice(SchemaCatalog& c) {
  c.add("Slice")
      .version(1, "(data: T) -> (output: T) {ends: ints!, starts: ints!, axes: ints} [T: @all]")
      .version(10,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all; "
               "Tind: @index]",
               slice_10_from_1)
      .version(11,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all; "
               "Tind: @index]")
      .version(13,
               "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T) [T: @all_13; "
               "Tind: @index]")
      .rule<Slice>()
      .contract({.exact = true});
}

}  // namespace lathe
