#include "ops/grid_sample/grid_sample.h"

#include "ops/grid_sample/decomposition.h"
#include "schema/downgrade.h"

namespace lathe {
namespace {

void grid_sample_20_from_16(UpgradeContext& u) {
  Attributes& a = u.node().attributes;
  const auto mode = a.get<std::string>("mode", "bilinear");
  if (mode == "bilinear") a.set("mode", std::string("linear"));
  if (mode == "bicubic") a.set("mode", std::string("cubic"));
}

bool grid_sample_16_from_20(RewriteContext& c) {
  Attributes& a = c.node().attributes;
  const auto mode = a.get<std::string>("mode", "linear");
  a.set("mode", mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode);
  return rank_of(c.input_type(0)) == 4 || c.cannot("in older ones the input has two spatial axes");
}

}  // namespace

void declare_grid_sample(SchemaCatalog& c) {
  c.add("GridSample")
      .version(16,
               "(X: T1, grid: T2) -> (Y: T1) {align_corners: int = 0, padding_mode: string = 'zeros', mode: "
               "string = 'bilinear'} [T1: @all; T2: @float]")
      .version(20,
               "(X: T1, grid: T2) -> (Y: T1) {align_corners: int = 0, padding_mode: string = 'zeros', mode: "
               "string = 'linear'} [T1: @all; T2: @float]",
               grid_sample_20_from_16, grid_sample_16_from_20)
      .version(22,
               "(X: T1, grid: T2) -> (Y: T1) {align_corners: int = 0, padding_mode: string = 'zeros', mode: "
               "string = 'linear'} [T1: @all_13; T2: @float_13]")
      .rule<GridSample>()
      .decompose(decomposition::grid_sample)
      .tolerance({.epsilons = 64});
}

}  // namespace lathe
