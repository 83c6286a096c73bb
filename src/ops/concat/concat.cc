#include "ops/concat/concat.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void concat_4_from_1(UpgradeContext& u) { pin_attribute(u, "axis", int64_t{1}); }

}  // namespace

void declare_concat(SchemaCatalog& c) {
  c.add("Concat")
      .version(1, "(inputs*1: T) -> (concat_result: T) {axis: int} [T: @float]")
      .version(4, "(inputs*1: T) -> (concat_result: T) {axis: int!} [T: @all]", concat_4_from_1)
      .version(11, "(inputs*1: T) -> (concat_result: T) {axis: int!} [T: @all]", nullptr, axes_from_front)
      .version(13, "(inputs*1: T) -> (concat_result: T) {axis: int!} [T: @all_13]")
      .rule<Concat>()
      .tolerance({.exact = true});
}

}  // namespace lathe
